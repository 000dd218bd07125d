"""Rules that tell from the types and constants of its arguments whether an op of torch can raise.

The answers are those of `raising`, which has the rules of Stator's own ops.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import zip_longest

from stator.program.ir import Arg, Op, operands_of, values_in
from stator.program.opset.raising import is_number, number_kind, type_of
from stator.program.opset.row import Raises
from stator.program.registry import schema_of
from stator.program.sizes import AnySize, Dim, is_static
from stator.program.types import ListType, TensorType, TextType

NEVER, SIZES, VALUES = Raises.NEVER, Raises.SIZES, Raises.VALUES
FLOAT_LIMITS = {"float16": 65504.0, "bfloat16": 3.38e38, "float32": 3.40e38, "complex64": 3.40e38}
INT_LIMITS = {"uint8": (0, 255), "int8": (-128, 127), "int16": (-(2**15), 2**15 - 1),
              "int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}  # fmt: skip


def tensors_of(op: Op) -> Iterator[TensorType]:
    """The types of the tensors among the arguments."""
    for value in operands_of(op):
        found = type_of(value)
        if isinstance(found, TensorType):
            yield found


def argument(op: Op, position: int, name: str) -> Arg:
    """One argument, given by position or by name; None if it is left out."""
    return op.args[position] if position < len(op.args) else op.attributes.get(name)


def _is_static(op: Op) -> bool:
    """Whether all tensors have known sizes and all numbers are constants."""
    return all(
        isinstance(value.type, TensorType) and is_static(value.type.shape)
        for value in operands_of(op)
    )


def _has_dynamic_number(op: Op) -> bool:
    values = operands_of(op)
    return any(not isinstance(type_of(value), TensorType) for value in values)


def sized(op: Op) -> Raises:
    """A reduction, product or view: the capture has run it on these sizes if they are static."""
    return NEVER if _is_static(op) else SIZES


def of_some(op: Op) -> Raises:
    """A reduction that fails for an empty tensor: the data may decide whether it is one."""
    if len(list(tensors_of(op))) != 1 or argument(op, 1, "dim") is not None:
        return sized(op)
    return NEVER if _is_static(op) and not _is_empty(op) else VALUES


def _is_empty(op: Op) -> bool:
    return any(0 in found.shape for found in tensors_of(op))


def counted(op: Op) -> Raises:
    """The same where a count or a position can be out of range, unless it is a constant."""
    first, others = op.args[:1], values_in(op.args[1:]) + values_in(op.attributes)
    is_given_more = others or any(not isinstance(type_of(v), TensorType) for v in values_in(first))
    return VALUES if is_given_more else sized(op)


def reading(op: Op) -> Raises:
    """A read of sizes, or a view that exists for every size, if its dimensions are constants."""
    return SIZES if _has_dynamic_number(op) else NEVER


def one_element(op: Op) -> Raises:
    """`item()`: fine for a tensor that is known to have one element."""
    found = type_of(op.args[0])
    single = isinstance(found, TensorType) and all(size == 1 for size in found.shape)
    return NEVER if single else VALUES


def joining(op: Op) -> Raises:
    """`cat` and `stack`: a list may be empty, or have items that do not fit."""
    values = operands_of(op)
    return VALUES if any(isinstance(type_of(v), ListType) for v in values) else sized(op)


def pointwise(op: Op) -> Raises:
    """Fine if the sizes broadcast whatever the symbols represent, and all numbers fit."""
    if not all(_fits(arg, op) for arg in _scalars(op)):
        return VALUES
    return wrapping(op)


def wrapping(op: Op) -> Raises:
    """The same for an op that takes any number: it makes a tensor of it first."""
    values = operands_of(op)
    if any(isinstance(type_of(value), ListType | TextType) for value in values):
        return SIZES
    shapes = [reversed(found.shape) for found in tensors_of(op)]
    fits = all(_broadcast(sizes) for sizes in zip_longest(*shapes, fillvalue=1))
    return NEVER if fits else SIZES


def _broadcast(sizes: tuple[Dim, ...]) -> bool:
    """Whether sizes of one dimension are equal or 1; two of which nothing is known may differ."""
    found = [size for size in sizes if size != 1]
    return len(set(found)) <= 1 and (len(found) <= 1 or AnySize() not in found)


def _scalars(op: Op) -> Iterator[Arg]:
    """The arguments that the schema has as numbers, which torch converts to the tensors' dtype."""
    arguments = schema_of(op.name).arguments
    named = {one.name: one for one in arguments}
    pairs = [*zip(op.args, arguments, strict=False)]
    pairs += [(arg, named[name]) for name, arg in op.attributes.items() if name in named]
    yield from (arg for arg, one in pairs if one.type in ("number", "Optional[number]"))


def _fits(arg: Arg, op: Op) -> bool:
    """Whether a number can be converted to the dtype that the op computes in."""
    if arg is None:
        return True
    dtypes = {found.dtype for found in tensors_of(op)}
    dtypes |= {value.type.dtype for value in op.results if isinstance(value.type, TensorType)}
    return all(_converts(arg, dtype) for dtype in dtypes - {"bool"})


def _converts(arg: Arg, dtype: str) -> bool:
    kind = number_kind(arg)
    if dtype in INT_LIMITS:
        low, high = INT_LIMITS[dtype]
        return kind in ("int", "bool") and (
            low <= arg <= high if isinstance(arg, int) else kind == "bool" or dtype == "int64"
        )
    limit = FLOAT_LIMITS.get(dtype, math.inf)
    if isinstance(arg, bool | int | float):
        return not math.isfinite(arg) or abs(arg) <= limit
    if isinstance(arg, complex):
        return dtype in ("complex64", "complex128") and abs(arg) <= limit
    return kind == "bool" or (kind == "int" and limit > 2.0**64) or limit == math.inf


def _is_whole(op: Op) -> bool:
    """Whether the op computes in integers, or may do so."""
    found = [value.type for value in op.results] or [*tensors_of(op)]
    return not all(
        isinstance(one, TensorType) and one.dtype.startswith(("float", "bfloat", "complex"))
        for one in found
    )


def dividing(op: Op) -> Raises:
    """Integers divided by 0 raise on a CPU; floats do not."""
    divisor = op.args[1] if len(op.args) > 1 else None
    if _is_whole(op) and not (is_number(divisor) and divisor != 0):
        return VALUES
    return pointwise(op)


def powering(op: Op) -> Raises:
    """Integers to a negative power raise."""
    exponent = op.args[1] if len(op.args) > 1 else None
    if _is_whole(op) and not (isinstance(exponent, int) and exponent >= 0):
        return VALUES
    return pointwise(op)


def filling(op: Op) -> Raises:
    """A new or changed tensor: numbers must fit its dtype, and sizes must not be negative."""
    scalars = [*_scalars(op)]
    if not all(_fits(arg, op) for arg in scalars):
        return VALUES
    others = [v for v in operands_of(op) if v not in scalars]
    if not all(isinstance(type_of(value), TensorType) for value in others):
        return VALUES
    return sized(op)


def picking(op: Op) -> Raises:
    """`select`: fine if a constant index is inside a static size."""
    found, dimension, index = type_of(op.args[0]), argument(op, 1, "dim"), argument(op, 2, "index")
    if not isinstance(found, TensorType) or not isinstance(dimension, int):
        return VALUES
    size = found.shape[dimension] if -len(found.shape) <= dimension < len(found.shape) else None
    if not isinstance(size, int) or not isinstance(index, int):
        return VALUES
    return NEVER if -size <= index < size else VALUES


def masking(op: Op) -> Raises:
    """`x[mask]`: a mask selects what is there; integers may be out of range."""
    indexes = argument(op, 1, "indices")
    kinds = (
        [type_of(arg) for arg in indexes if arg is not None]
        if isinstance(indexes, tuple)
        else [None]
    )
    masks = all(isinstance(one, TensorType) and one.dtype in ("bool", "uint8") for one in kinds)
    return sized(op) if masks and _masks_fit(op) else VALUES


def _masks_fit(op: Op) -> bool:
    """Has each mask the sizes of what it selects from, by the types alone?"""
    found, at = type_of(op.args[0]), 0
    indexes = argument(op, 1, "indices")
    assert isinstance(indexes, tuple)
    for one in map(type_of, indexes):
        wanted = one.shape if isinstance(one, TensorType) else None
        if wanted and not (
            isinstance(found, TensorType) and found.shape[at : at + len(wanted)] == wanted
        ):
            return False
        at += 1 if wanted is None else len(wanted)
    return True


def put_by_mask(op: Op) -> Raises:
    """`x[mask] = y`: the mask may select another number of elements than `y` has."""
    found = type_of(argument(op, 2, "values"))
    single = isinstance(found, TensorType) and all(size == 1 for size in found.shape)
    return masking(op) if single else VALUES
