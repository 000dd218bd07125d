"""What a program takes and gives, in a line: `(f32[s0, 4], int)`."""

from __future__ import annotations

from collections.abc import Sequence

from stator.program.ir import Value
from stator.program.program import Program
from stator.program.structure import (
    Choice,
    ConstantValue,
    Conversion,
    Leaf,
    Mapping,
    Record,
    RuntimeList,
    Structure,
)
from stator.program.types import ListType, OptionalType, TextType, Type
from stator.program.typing_rules import present
from stator.program.unions import tag_of


def output_text(program: Program) -> str:
    """What a call gives."""
    outputs = program.call_outputs
    types = [
        type_in_words(present(one.type)) if isinstance(one, Value) else repr(one) for one in outputs
    ]
    return structure_text(program.output_structure, types)


def input_text(program: Program) -> str:
    """What a call takes: its positional arguments, then those by name."""
    types = [type_in_words(value.type) for value in program.call_inputs]
    return structure_text(program.input_structure, types)


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


def structure_text(structure: Structure, types: Sequence[str]) -> str:
    """`structure` with the type of each leaf in its place."""
    if isinstance(structure, Leaf):
        return types[structure.position]
    if isinstance(structure, ConstantValue):
        return repr(structure.value)
    if isinstance(structure, RuntimeList):
        return f"{structure.kind} of {structure_text(structure.item, types)}"
    if isinstance(structure, Choice):
        return " or ".join(structure_text(item, types) for item in structure.alternatives)
    items = [structure_text(item, types) for item in structure.items]
    if isinstance(structure, Conversion):
        return f"{structure.name}({items[0]})"
    if isinstance(structure, Mapping):
        pairs = zip(structure.keys, items, strict=True)
        return "{" + ", ".join(f"{key!r}: {item}" for key, item in pairs) + "}"
    if isinstance(structure, Record):
        pairs = zip(structure.fields, items, strict=True)
        name = structure.type_name.rpartition(":")[2]
        return f"{name}({', '.join(f'{key}={item}' for key, item in pairs)})"
    inside = ", ".join(items)
    if structure.kind == "list":
        return f"[{inside}]"
    return f"({inside},)" if len(items) == 1 else f"({inside})"
