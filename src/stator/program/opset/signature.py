"""Signatures of Stator's own ops: parsed once, and checked against the operands of an op.

signature_of("(list: list<T>, index: int) -> T")
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import UnionType

from stator.program.ir import Arg, Op, Value
from stator.program.opset.row import OpRow
from stator.program.types import ListType, NumberType, TensorType, TextType, Type
from stator.program.typing_rules import NUMBERS, described, fits, number_fits, present, type_fits

SIGNATURE = re.compile(r"\((?P<operands>[^;)]*)(;(?P<attributes>[^)]*))?\)( -> (?P<results>.*))?")
PARAMETER = re.compile(r"(?P<star>\*?)(?P<name>\w+)(?P<optional>\??): (?P<type>.+)")
NUMBER_NAMES = frozenset(NUMBERS.values())
PROMOTION = ("bool", "int", "float", "complex")
CLASSES: dict[str, type | UnionType] = {
    "number": NumberType, "tensor": TensorType, "text": TextType, "scalar": NumberType | TextType,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand or an attribute."""

    name: str
    type: str
    is_variadic: bool
    is_optional: bool


@dataclass(frozen=True, slots=True)
class OpSignature:
    """What an op takes and gives."""

    operands: tuple[Operand, ...]
    attributes: tuple[Operand, ...]
    results: tuple[Operand, ...]


@functools.cache
def signature_of(text: str) -> OpSignature:
    """The signature that `text` is."""
    match = SIGNATURE.fullmatch(text)
    assert match is not None, text
    results = match["results"] or ""
    if results and not results.startswith("*"):
        results = f"result: {results}"
    return OpSignature(
        tuple(_parameters(match["operands"])),
        tuple(_parameters(match["attributes"] or "")),
        tuple(_parameters(results)),
    )


def _parameters(text: str) -> Iterator[Operand]:
    for part in filter(None, (one.strip() for one in text.split(","))):
        match = PARAMETER.fullmatch(part)
        assert match is not None, part
        yield Operand(match["name"], match["type"], bool(match["star"]), bool(match["optional"]))


def problem_with(op: Op, row: OpRow) -> str | None:
    """Why `op` is not as its signature has it; None if it is."""
    signature = signature_of(row.signature)
    bound = dict[str, Type]()
    return (
        _result_problem(op, signature, bound)
        or _operand_problem(op, signature, bound)
        or _attribute_problem(op, signature)
    )


def _result_problem(op: Op, signature: OpSignature, bound: dict[str, Type]) -> str | None:
    """Results first: what they declare `T` to be is what operands must fit."""
    wanted = signature.results
    if not (wanted and wanted[0].is_variadic) and len(op.results) != len(wanted):
        return f"{op.name} gives {len(wanted)} results, not {len(op.results)}"
    for parameter, value in _paired(op.results, wanted):
        assert isinstance(value, Value)
        assert parameter is not None
        promoted = parameter.type == "promoted"
        fine = (
            _is_promoted(value.type, op)
            if promoted
            else _declares(value.type, parameter.type, bound)
        )
        if not fine:
            return f"{op.name} gives `{parameter.type}`, not {described(value)}"
    return None


def _operand_problem(op: Op, signature: OpSignature, bound: dict[str, Type]) -> str | None:
    for parameter, arg in _paired(op.args, signature.operands):
        if parameter is None:
            return f"{op.name} is given {len(op.args)} operands: too many"
        if not matches(arg, parameter.type, bound):
            wanted = f"{parameter.name}: {parameter.type}"
            return f"{op.name} is given {described(arg)} for its `{wanted}`"
    for parameter in signature.operands[len(op.args) :]:
        if not (parameter.is_optional or parameter.is_variadic):
            return f"{op.name} is not given its `{parameter.name}`"
    return None


def _attribute_problem(op: Op, signature: OpSignature) -> str | None:
    known = {parameter.name: parameter for parameter in signature.attributes}
    for name, arg in op.attributes.items():
        if name not in known:
            return f"{op.name} has no attribute `{name}`"
        if not matches(arg, known[name].type, {}):
            return f"{op.name} is given {described(arg)} for its `{name}: {known[name].type}`"
    for parameter in signature.attributes:
        if not parameter.is_optional and parameter.name not in op.attributes:
            return f"{op.name} is not given its `{parameter.name}`"
    return None


def _paired(
    args: Sequence[Arg], parameters: tuple[Operand, ...]
) -> Iterator[tuple[Operand | None, Arg]]:
    last = parameters[-1] if parameters and parameters[-1].is_variadic else None
    for index, arg in enumerate(args):
        yield (parameters[index] if index < len(parameters) else last), arg


def matches(arg: Arg, wanted: str, bound: dict[str, Type]) -> bool:
    """Whether an operand is of the type that a signature names."""
    if wanted == "any":
        return True
    if wanted.endswith("?"):
        return arg is None or matches(arg, wanted[:-1], bound)
    if wanted.startswith("["):
        return isinstance(arg, tuple) and all(matches(one, wanted[1:-1], bound) for one in arg)
    if wanted == "T" and "T" in bound:
        return fits(arg, bound["T"])
    found = type_of_arg(arg)
    return found is not None and _accepts(found, wanted, bound)


def type_of_arg(arg: Arg) -> Type | None:
    """The type of a value that is there, a number or a text; None for any other constant."""
    if isinstance(arg, Value):
        return present(arg.type)
    if isinstance(arg, str):
        return TextType()
    kind = NUMBERS.get(type(arg))
    return None if kind is None else NumberType(kind)


def _accepts(given: Type, wanted: str, bound: dict[str, Type]) -> bool:
    """Whether a value of type `given` may be an operand of type `wanted`."""
    if wanted == "T":
        return type_fits(given, bound.setdefault("T", given))
    if wanted.startswith("list<"):
        return isinstance(given, ListType) and _accepts(given.element, wanted[5:-1], bound)
    if wanted in NUMBER_NAMES:
        return isinstance(given, NumberType) and number_fits(given.kind, wanted)
    return wanted == "any" or isinstance(given, CLASSES[wanted])


def _declares(declared: Type, wanted: str, bound: dict[str, Type]) -> bool:
    """Whether a result of type `wanted` may be declared as `declared`."""
    if wanted.endswith("?"):  # a capture may know that it is there
        declared, wanted = present(declared), wanted[:-1]
    if wanted.startswith("list<") and isinstance(declared, ListType):
        return _declares(declared.element, wanted[5:-1], bound)
    if wanted in NUMBER_NAMES:
        return declared == NumberType(wanted)
    return _accepts(declared, wanted, bound)


def _is_promoted(declared: Type, op: Op) -> bool:
    """Whether arithmetic on these operands gives a number of that kind."""
    kinds = [found.kind for arg in op.args if isinstance(found := type_of_arg(arg), NumberType)]
    highest = max(("int", *kinds), key=PROMOTION.index)
    return declared == NumberType(highest)
