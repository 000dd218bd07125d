"""result_text(): what a program gives, as its `repr` has it: `(f32[n, 4], {'loss': f32[]})`.

[f32[n], ...]        a list of data-dependent length
f32[n] | None        what depends on the run
"""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf

from stator.program.ir import Arg, Value
from stator.program.signatures import type_in_words
from stator.program.structure import (
    Choice,
    ConstantValue,
    Conversion,
    Leaf,
    Mapping,
    Record,
    RuntimeList,
    Sequence,
    Structure,
)
from stator.program.types import ListType, OptionalType, Type


def result_text(structure: Structure, outputs: SequenceOf[Arg], depth: int = 0) -> str:
    """`structure` with the type of each output in its place, inside of `depth` lists."""

    def text(part: Structure) -> str:
        return result_text(part, outputs, depth)

    match structure:
        case Leaf(position):
            return _output_text(outputs[position], depth)
        case ConstantValue(value):
            return repr(value)
        case Sequence("list", items):
            return f"[{', '.join(map(text, items))}]"
        case Sequence(_, items):
            return f"({', '.join(map(text, items))}{',' if len(items) == 1 else ''})"
        case Mapping(keys, items):
            pairs = zip(keys, map(text, items), strict=True)
            return f"{{{', '.join(f'{key!r}: {item}' for key, item in pairs)}}}"
        case Record(_, "torch:Size", _, items):
            return f"torch.Size([{', '.join(map(text, items))}])"
        case Record(_, name, fields, items):
            pairs = zip(fields, map(text, items), strict=True)
            listed = ", ".join(f"{field}={item}" for field, item in pairs)
            return f"{name.rpartition(':')[2]}({listed})"
        case Choice(_, alternatives):
            return " | ".join(sorted(dict.fromkeys(map(text, alternatives)), key="None".__eq__))
        case RuntimeList():
            return _list_text(structure, outputs, depth + 1)
        case Conversion(name, _, items):
            return f"{name}({', '.join(map(text, items))})"


def _list_text(structure: RuntimeList, outputs: SequenceOf[Arg], depth: int) -> str:
    match structure.item:
        case Sequence(_, (key, value)) if structure.kind == "dict":
            pair = [result_text(part, outputs, depth) for part in (key, value)]
            return f"{{{': '.join(pair)}, ...}}"
    item = result_text(structure.item, outputs, depth)
    return f"({item}, ...)" if structure.kind == "tuple" else f"[{item}, ...]"


def _output_text(output: Arg, depth: int) -> str:
    if not isinstance(output, Value):
        return repr(output)
    kind: Type = output.type
    for _ in range(depth):
        while isinstance(kind, OptionalType):
            kind = kind.element
        if isinstance(kind, ListType):
            kind = kind.element
    if isinstance(kind, OptionalType) and kind.present is not None:
        kind = kind.element  # it is there where its alternative is the one
    return type_in_words(kind)
