"""Sums, extremes and variances.

ONNX Runtime gives a value for the mean of no elements (0) and for the greatest of none (the least
number there is). Torch gives NaN for one, and an error for the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import onnx_ir as ir

from stator.export.onnx.library import call, rank
from stator.export.onnx.list_operands import raises
from stator.export.onnx.lowering import Lowering
from stator.export.onnx.operands import (
    argument,
    dimension,
    dtype_of_result,
    own_copy,
    shape_of,
    tensor_type,
)
from stator.export.onnx.scope import D, dtype_in
from stator.program.ir import Arg, Op, Value

FLOATS = (D.FLOAT, D.DOUBLE, D.FLOAT16, D.BFLOAT16)
ORDERED_AS = {  # ONNX Runtime has no kernels that order these
    D.BOOL: D.UINT8, D.INT16: D.INT32, D.UINT16: D.INT32, D.UINT32: D.INT64,
    D.FLOAT16: D.FLOAT, D.BFLOAT16: D.FLOAT,
}  # fmt: skip


def without_nan(to: Lowering, op: Op) -> None:
    """A check that no element is NaN: ONNX Runtime orders NaN in another way than torch."""
    found = to.value(op.args[0])
    if found.dtype not in FLOATS:
        return
    fine = nowhere(to, to.scope.emit("IsNaN", found))
    to.check(fine, "RuntimeError", f"{op.name} of NaN, which ONNX Runtime orders in another way")


def nowhere(to: Lowering, flags: ir.Value) -> ir.Value:
    """Whether none of `flags` is true."""
    count = to.scope.scalar("ReduceSum", to.scope.cast(flags, D.INT64), keepdims=0)
    return to.scope.scalar("Equal", count, to.scope.int64(0))


def ordered(to: Lowering, op: Op) -> None:
    """`sort` and `topk`."""
    without_nan(to, op)
    if not rank(op.args[0]):
        to.refuse(f"{op.name} of a tensor without dimensions")
    call(to, op)


def axes_of(to: Lowering, op: Op) -> list[int]:
    """The dimensions that an op reduces, in order: all, unless it names some."""
    dims, count = argument(op, "dim"), rank(op.args[0])
    given = dims if isinstance(dims, tuple) else () if dims is None else (dims,)
    if not all(isinstance(dim, int) for dim in given):
        to.refuse(f"{op.name} needs constant dimensions")
    if not count:
        return []
    return sorted(int(dim) % count for dim in given if isinstance(dim, int)) or [*range(count)]


def reduced(
    to: Lowering, node: str, found: ir.Value, axes: Sequence[int], *, keep: bool
) -> ir.Value:
    """One reduction; a tensor without dimensions has nothing to reduce."""
    if not axes:
        return found
    return to.scope.emit(node, found, to.scope.int64(axes), keepdims=int(keep))


def may_be_empty(arg: Arg, axes: Sequence[int]) -> bool:
    """Whether there may be no element along `axes`, as far as the program declares."""
    shape = tensor_type(arg).shape
    return any(not isinstance(shape[axis], int) or shape[axis] == 0 for axis in axes)


def count_along(to: Lowering, arg: Arg, axes: Sequence[int]) -> ir.Value:
    """How many elements become one."""
    sizes = to.scope.emit("Gather", shape_of(to, arg), to.scope.int64(axes))
    return to.scope.scalar("ReduceProd", sizes, keepdims=0)


# ---- extremes


def with_elements(to: Lowering, op: Op, axes: Sequence[int]) -> None:
    """The least and the greatest of no elements are errors."""
    if not may_be_empty(op.args[0], axes):
        return
    name = op.name.partition(".")[0].removeprefix("aten::")
    some = to.scope.scalar("Greater", count_along(to, op.args[0], axes), to.scope.int64(0))
    is_whole = argument(op, "dim") in (None, ()) and not name.startswith("arg")
    text = f"{name}(): Expected reduction dim to have non-zero size."
    to.check(some, "RuntimeError" if is_whole else "IndexError", text)


def _orderable(to: Lowering, op: Op) -> ir.Value:
    without_nan(to, op)
    found = to.value(op.args[0])
    return to.scope.cast(found, ORDERED_AS.get(dtype_in(found), dtype_in(found)))


def extreme(to: Lowering, op: Op) -> ir.Value:
    """`max`, `min`, `amax` and `amin`: the values."""
    axes = axes_of(to, op)
    with_elements(to, op, axes)
    node = "ReduceMax" if "max" in op.name else "ReduceMin"
    keep = bool(argument(op, "keepdim", False))
    found = reduced(to, node, _orderable(to, op), axes, keep=keep)
    return to.scope.cast(found, dtype_of_result(to, op))


def place_of_extreme(to: Lowering, op: Op) -> ir.Value:
    """`argmax` and `argmin`: the first index."""
    found, count, dim = _orderable(to, op), rank(op.args[0]), argument(op, "dim")
    with_elements(to, op, axes_of(to, op))
    keep = bool(argument(op, "keepdim", False))
    if dim is None:
        found = to.scope.emit("Reshape", found, to.scope.int64([-1]))
    elif not count:
        return own_copy(to, to.scope.int64(0))
    axis = axes_of(to, op)[0] if dim is not None else 0
    node = "ArgMax" if op.name.endswith("max") else "ArgMin"
    keeps = int(keep and dim is not None)
    index = to.scope.emit(node, found, axis=axis, keepdims=keeps)
    index = raises(index, "IndexError", "Expected reduction dim to have non-zero size.")
    if keep and dim is None:
        return to.scope.emit("Reshape", index, to.scope.int64([1] * count))
    return index


def extreme_along(to: Lowering, op: Op) -> None:
    """`max` and `min` along a dimension: the values and their first indices."""
    to.bind(op.results[0], own_copy(to, extreme(to, op)))
    name = op.name.partition(".")[0].removeprefix("aten::")
    places = Op(f"aten::arg{name}", op.args, op.attributes, op.results[1:], place=op.place)
    to.bind(op.results[1], own_copy(to, place_of_extreme(to, places)))


# ---- sums


def summed(to: Lowering, op: Op) -> ir.Value:
    """Sums, products and means, in the dtype of the result."""
    dtype, name = dtype_of_result(to, op), op.name.partition(".")[0].removeprefix("aten::")
    found = to.scope.cast(to.value(op.args[0]), dtype)
    axes, keep = axes_of(to, op), bool(argument(op, "keepdim", False))
    if name != "mean":
        node = {"sum": "ReduceSum", "nansum": "ReduceSum", "prod": "ReduceProd"}[name]
        return own_copy(to, reduced(to, node, found, axes, keep=keep))
    if not may_be_empty(op.args[0], axes):
        return own_copy(to, reduced(to, "ReduceMean", found, axes, keep=keep))
    total = reduced(to, "ReduceSum", found, axes, keep=keep)
    count = to.scope.cast(count_along(to, op.args[0], axes), dtype)
    return to.scope.emit("Div", total, count)


def cumulated(to: Lowering, op: Op) -> ir.Value:
    """`cumsum`."""
    dtype = dtype_of_result(to, op)
    found = to.scope.cast(to.value(op.args[0]), dtype)
    if not rank(op.args[0]):
        return own_copy(to, found)
    axis = to.scope.int64(dimension(to, op))
    return to.scope.emit("CumSum", found, axis)


def any_or_all(to: Lowering, op: Op) -> ir.Value:
    """`any` and `all`: of no elements, false and true."""
    found, axes = to.scope.cast(to.value(op.args[0]), D.BOOL), axes_of(to, op)
    is_all = op.name.startswith("aten::all")
    if is_all:
        found = to.scope.emit("Not", found)
    keep = bool(argument(op, "keepdim", False))
    count = reduced(to, "ReduceSum", to.scope.cast(found, D.INT64), axes, keep=keep)
    node = "Equal" if is_all else "Greater"
    result = to.scope.emit(node, count, to.scope.int64(0))
    return to.scope.cast(result, dtype_of_result(to, op))


def log_of_sum(to: Lowering, op: Op) -> ir.Value:
    """`logsumexp`: of no elements, minus infinity."""
    scope, dtype = to.scope, dtype_of_result(to, op)
    found, axes = scope.cast(to.value(op.args[0]), dtype), axes_of(to, op)
    keep = bool(argument(op, "keepdim", False))
    greatest = reduced(to, "ReduceMax", found, axes, keep=True)
    is_infinite = scope.emit("IsInf", greatest)
    zero = scope.constant(0, dtype)
    greatest = scope.emit("Where", is_infinite, zero, greatest)
    powers = scope.emit("Exp", scope.emit("Sub", found, greatest))
    logarithm = scope.emit("Log", reduced(to, "ReduceSum", powers, axes, keep=True))
    result = scope.emit("Add", logarithm, greatest)
    if keep or not axes:
        return result
    return scope.emit("Squeeze", result, scope.int64(axes))


# ---- variances


def variance(to: Lowering, op: Op) -> ir.Value:
    """`var` and `std`."""
    result = _variance(to, op)
    if not op.name.startswith("aten::std"):
        return result
    return to.scope.emit("Sqrt", result)


def variance_and_mean(to: Lowering, op: Op) -> None:
    """`var_mean` and `std_mean`."""
    found, axes = to.value(op.args[0]), axes_of(to, op)
    to.bind(op.results[0], own_copy(to, variance(to, op)))
    keep = bool(argument(op, "keepdim", False))
    total = reduced(to, "ReduceSum", found, axes, keep=keep)
    count = to.scope.cast(count_along(to, op.args[0], axes), dtype_in(found))
    to.bind(op.results[1], to.scope.emit("Div", total, count))


def _variance(to: Lowering, op: Op) -> ir.Value:
    scope, dtype = to.scope, dtype_of_result(to, op)
    found, axes = to.value(op.args[0]), axes_of(to, op)
    keep = bool(argument(op, "keepdim", False))
    mean = reduced(to, "ReduceMean", found, axes, keep=True)
    distance = scope.emit("Sub", found, mean)
    squares = scope.emit("Mul", distance, distance)
    total = reduced(to, "ReduceSum", squares, axes, keep=keep)
    count = scope.cast(count_along(to, op.args[0], axes), dtype)
    divisor = scope.scalar("Sub", count, scope.constant(_correction(to, op), dtype))
    divisor = scope.scalar("Max", divisor, scope.constant(0, dtype))
    return scope.emit("Div", total, divisor)


def _correction(to: Lowering, op: Op) -> float:
    """What is taken from the number of elements: 1, unless the call says otherwise."""
    unbiased, correction = argument(op, "unbiased", True), argument(op, "correction", 1)
    if isinstance(correction, Value) or isinstance(unbiased, Value):
        to.refuse(f"{op.name} needs a constant correction")
    if not unbiased:
        return 0
    return 1 if correction is None else float(correction)  # type: ignore[arg-type]


def distances(to: Lowering, op: Op) -> ir.Value:
    """`cdist`: the norm of the difference of each two rows."""
    scope, dtype, power = to.scope, dtype_of_result(to, op), argument(op, "p", 2.0)
    if not isinstance(power, int | float):
        to.refuse(f"{op.name} needs a constant p")
    assert isinstance(power, int | float)
    rows = scope.emit("Unsqueeze", to.value(op.args[0]), scope.int64([-2]))
    columns = scope.emit("Unsqueeze", to.value(op.args[1]), scope.int64([-3]))
    between = scope.emit("Sub", rows, columns)
    last = [max(rank(op.args[0]), rank(op.args[1]))]  # -1 is not right for no elements
    if power == 2:
        squares = scope.emit("Mul", between, between)
        return scope.emit("Sqrt", reduced(to, "ReduceSum", squares, last, keep=False))
    between = scope.emit("Abs", between)
    if power == math.inf:
        if may_be_empty(op.args[0], [rank(op.args[0]) - 1]):
            to.refuse(f"{op.name} with p=inf needs a constant number of columns, 1 at least")
        return reduced(to, "ReduceMax", between, last, keep=False)
    if power == 0:
        some = scope.emit("Equal", between, scope.constant(0, dtype))
        between = scope.cast(scope.emit("Not", some), dtype)
    if power in (0, 1):
        return reduced(to, "ReduceSum", between, last, keep=False)
    powers = scope.emit("Pow", between, scope.constant(power, dtype))
    total = reduced(to, "ReduceSum", powers, last, keep=False)
    return scope.emit("Pow", total, scope.constant(1 / power, dtype))


def cosine_similarity(to: Lowering, op: Op) -> ir.Value:
    """`cosine_similarity`: the product over both norms, each `eps` at least."""
    scope, dtype = to.scope, dtype_of_result(to, op)
    dim, epsilon = argument(op, "dim", 1), argument(op, "eps", 1e-8)
    count = max(rank(op.args[0]), rank(op.args[1]))
    assert isinstance(dim, int)
    one, other = (scope.cast(to.value(arg), dtype) for arg in op.args[:2])
    least = scope.constant(epsilon, dtype)

    def total(first: ir.Value, second: ir.Value) -> ir.Value:
        product = scope.emit("Mul", first, second)
        return reduced(to, "ReduceSum", product, [dim % count] if count else [], keep=False)

    def norm(value: ir.Value) -> ir.Value:
        whole = scope.emit("Expand", value, shape)
        root = scope.emit("Sqrt", total(whole, whole))
        return scope.emit("Max", root, least)

    product = scope.emit("Mul", one, other)
    shape = scope.emit("Shape", product)
    norms = scope.emit("Mul", norm(one), norm(other))
    return scope.emit("Div", total(one, other), norms)
