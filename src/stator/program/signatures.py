"""What a program takes and gives, in a line: `(f32[s0, 4], {'loss': f32[]})`.

[f32[n], ...]        a list of data-dependent length
f32[n] | None        what depends on the run
"""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf

from stator.program.ir import Arg, Value
from stator.program.program import Program
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
from stator.program.types import ListType, OptionalType, TextType, Type
from stator.program.typing_rules import present
from stator.program.unions import tag_of


def output_text(program: Program) -> str:
    """What a call gives."""
    return structure_text(program.output_structure, program.call_outputs)


def input_text(program: Program) -> str:
    """What a call takes: its positional arguments, then those by name."""
    return structure_text(program.input_structure, program.call_inputs)


def inputs_in_words(program: Program) -> list[tuple[str, str]]:
    """What a call takes by name, with the type of each; `str | None` for one that may be None."""
    return [
        (value.name, _in_words(value.type))
        for value in program.call_inputs
        if tag_of(value.type) is None
    ]


def _in_words(kind: Type) -> str:
    if isinstance(kind, OptionalType):
        return f"{type_in_words(kind.element)} | None"
    return type_in_words(kind)


def type_in_words(kind: Type) -> str:
    """The type as users of a program know it: what the program calls `text` is a `str`."""
    if isinstance(kind, TextType):
        return "str"
    return f"list<{type_in_words(kind.element)}>" if isinstance(kind, ListType) else str(kind)


def structure_text(structure: Structure, leaves: SequenceOf[Arg | Type], depth: int = 0) -> str:
    """`structure` with the type of each leaf in its place, inside of `depth` lists."""

    def text(part: Structure) -> str:
        return structure_text(part, leaves, depth)

    match structure:
        case Leaf(position):
            return _leaf_text(leaves[position], depth)
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
            return _list_text(structure, leaves, depth + 1)
        case Conversion(name, _, items):
            return f"{name}({', '.join(map(text, items))})"


def _list_text(structure: RuntimeList, leaves: SequenceOf[Arg | Type], depth: int) -> str:
    match structure.item:
        case Sequence(_, (key, value)) if structure.kind == "dict":
            pair = [structure_text(part, leaves, depth) for part in (key, value)]
            return f"{{{': '.join(pair)}, ...}}"
    item = structure_text(structure.item, leaves, depth)
    return f"({item}, ...)" if structure.kind == "tuple" else f"[{item}, ...]"


def _leaf_text(leaf: Arg | Type, depth: int) -> str:
    kind = leaf.type if isinstance(leaf, Value) else leaf
    if not isinstance(kind, Type):
        return repr(kind)
    for _ in range(depth):
        found = present(kind)
        kind = found.element if isinstance(found, ListType) else found
    if isinstance(kind, OptionalType) and kind.present is not None:
        kind = kind.element  # it is there where its alternative is the one
    return type_in_words(kind)
