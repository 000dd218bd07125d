"""Rules that tell from types and constants of arguments whether one of Stator's ops can raise.

A rule answers `NEVER` only if no run can fail, `SIZES` if only sizes or dtypes can be wrong, and
`VALUES` if the answer depends on what tensors and numbers hold. See `Raises`. No torch.
"""

from __future__ import annotations

import re

from stator.program.ir import Arg, Op, Value
from stator.program.opset.row import Raises
from stator.program.types import ListType, NumberType, OptionalType, TensorType, TextType, Type

NEVER, VALUES = Raises.NEVER, Raises.VALUES
NUMERIC_SPEC = re.compile(r"[<>^]?[ +-]?\d*[,_]?(\.\d{1,3})?[eEfFgG]")


def type_of(arg: Arg) -> Type | None:
    """The type of a value, of what it holds if it is optional; None for a constant."""
    found = arg.type if isinstance(arg, Value) else None
    return found.element if isinstance(found, OptionalType) else found


def number_kind(arg: Arg) -> str | None:
    """`int`, `float`, `bool` or `complex` for a number, constant or not; None for anything else."""
    if isinstance(arg, bool | int | float | complex):
        return type(arg).__name__
    found = type_of(arg)
    return found.kind if isinstance(found, NumberType) else None


def is_number(arg: Arg) -> bool:
    """Whether `arg` is a constant number."""
    return isinstance(arg, bool | int | float | complex)


# ---- number, text and list ops


def unless_nonzero(op: Op) -> Raises:
    """A division: fine if the divisor is a constant other than 0."""
    return NEVER if is_number(op.args[1]) and op.args[1] != 0 else VALUES


def unless_not_negative(op: Op) -> Raises:
    """A shift: fine if the count is a constant that is not negative."""
    return NEVER if isinstance(op.args[1], int) and op.args[1] >= 0 else VALUES


def unless_power_is_total(op: Op) -> Raises:
    """A power of integers whose exponent is a constant that is not negative."""
    base, exponent = op.args[:2]
    whole = number_kind(base) in ("int", "bool") and isinstance(exponent, int)
    return NEVER if whole and exponent >= 0 else VALUES  # type: ignore[operator]  # an int


def unless_whole(op: Op) -> Raises:
    """A rounding: an integer can be rounded; infinity and NaN cannot."""
    whole = number_kind(op.args[0]) in ("int", "bool")
    return NEVER if whole and len(op.args) == 1 else VALUES


def formatting(op: Op) -> Raises:
    """`format` without a spec, or of a number with an ordinary one."""
    value, _, spec = (*op.args, None, None)[:3]
    if not spec:
        return NEVER
    plain = isinstance(spec, str) and NUMERIC_SPEC.fullmatch(spec) is not None
    return NEVER if plain and number_kind(value) in ("int", "float", "bool") else VALUES


def slicing(op: Op) -> Raises:
    """A slice of a list: fine unless the step may be 0."""
    step = op.args[3] if len(op.args) > 3 else None
    return NEVER if step is None or (isinstance(step, int) and step != 0) else VALUES


def unless_constant(op: Op) -> Raises:
    """An op that is named by its second argument: fine if that is a constant."""
    return NEVER if isinstance(op.args[1], str) else VALUES


def ordering(op: Op) -> Raises:
    """Sorting: numbers and text can be compared; tensors only if each has one element."""
    return NEVER if all(_is_comparable(type_of(column)) for column in op.args[1:]) else VALUES


def _is_comparable(column: Type | None) -> bool:
    element = column.element if isinstance(column, ListType) else None
    if isinstance(element, TensorType):
        return all(size == 1 for size in element.shape)
    return isinstance(element, NumberType | TextType)
