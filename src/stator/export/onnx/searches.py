"""Sorting that keeps the order of equals, medians, places in sorted rows, masks and classes."""

from __future__ import annotations

from dataclasses import replace

import onnx_ir as ir

from stator.export.onnx.library import rank
from stator.export.onnx.lowering import Lowering
from stator.export.onnx.operands import argument, dtype_of_result
from stator.export.onnx.reductions import nowhere, ordered, reduced, without_nan
from stator.export.onnx.scope import D
from stator.program.ir import Op
from stator.torch_private.onnx_library import new_value


def sort_stable(to: Lowering, op: Op) -> None:
    """`sort(stable=True)`: TopK of ONNX puts the lower index first where values are equal."""
    dim, descending = argument(op, "dim", -1), argument(op, "descending", False)
    ordered(to, replace(op, name="aten::sort", args=(op.args[0], dim, descending), attributes={}))


def median(to: Lowering, op: Op) -> ir.Value:
    """`median` of all elements: the lower one of the two in the middle."""
    scope, dtype = to.scope, dtype_of_result(to, op)
    without_nan(to, op)
    flat = scope.emit("Reshape", to.value(op.args[0]), scope.int64([-1]))
    size = scope.emit("Shape", flat, shape=[1])
    some = scope.scalar("Greater", scope.scalar("Squeeze", size), scope.int64(0))
    to.require(some, "the median of no elements is NaN")
    half = scope.emit("Div", scope.emit("Add", size, scope.int64([1])), scope.int64([2]))
    values, places = (new_value("", ir.TensorType(kind), None) for kind in (dtype, D.INT64))
    attributes = {"axis": 0, "largest": 0, "sorted": 1}
    scope.node("TopK", [flat, half], [values, places], attributes)
    return reduced(to, "ReduceMax", values, [0], keep=False)


def kth_value(to: Lowering, op: Op) -> None:
    """`kthvalue`, and `median` along a dimension: the last of the k least elements, its index."""
    scope, dtype = to.scope, dtype_of_result(to, op)
    if not rank(op.args[0]):
        to.refuse(f"{op.name} of a tensor without dimensions")
    without_nan(to, op)
    found, dim = to.value(op.args[0]), argument(op, "dim", -1)
    if not isinstance(dim, int):
        to.refuse(f"{op.name} needs a constant dimension")
    assert isinstance(dim, int)
    axis = dim % rank(op.args[0])
    sizes = scope.emit("Shape", found)
    size = scope.emit("Gather", sizes, scope.int64([axis]), shape=[1])
    if op.name == "aten::kthvalue":
        wanted = scope.emit("Reshape", to.value(argument(op, "k")), scope.int64([1]))
        error, text = "RuntimeError", "selected number k out of range"
    else:
        wanted = scope.emit("Add", size, scope.int64([1]))
        wanted = scope.emit("Div", wanted, scope.int64([2]))
        error, text = "IndexError", f"{op.name} along a dimension of size 0"
    for least, most in ((scope.int64([1]), wanted), (wanted, size)):
        fine = scope.emit("LessOrEqual", least, most)
        to.check(scope.scalar("Squeeze", fine), error, text)
    values, places = (new_value("", ir.TensorType(kind), None) for kind in (dtype, D.INT64))
    attributes = {"axis": axis, "largest": 0, "sorted": 1}
    scope.node("TopK", [found, wanted], [values, places], attributes)
    last = scope.int64([-1])
    for result, whole in zip(op.results, (values, places), strict=True):
        one = scope.emit("Gather", whole, last, axis=axis)
        if not argument(op, "keepdim", False):
            one = scope.emit("Squeeze", one, scope.int64([axis]))
        to.bind(result, one)


def one_hot(to: Lowering, op: Op) -> ir.Value:
    """`one_hot` whose number of classes is that of the greatest one."""
    scope, found = to.scope, to.value(op.args[0])
    size = scope.scalar("Size", found)
    some = scope.scalar("Greater", size, scope.int64(0))
    to.check(some, "RuntimeError", "Can not infer total number of classes from empty tensor.")
    least, greatest = (scope.scalar(node, found, keepdims=0) for node in ("ReduceMin", "ReduceMax"))
    fine = scope.scalar("GreaterOrEqual", least, scope.int64(0))
    to.check(fine, "RuntimeError", "Class values must be non-negative.")
    count = scope.scalar("Add", greatest, scope.int64(1))
    classes = scope.emit("Range", scope.int64(0), count, scope.int64(1))
    column = scope.emit("Unsqueeze", found, scope.int64([-1]))
    return scope.cast(scope.emit("Equal", column, classes), D.INT64)


def searched(to: Lowering, op: Op) -> ir.Value:
    """`searchsorted`: how many elements of a sorted row come before a value; all before NaN."""
    scope = to.scope
    if argument(op, "sorter") is not None:
        to.refuse(f"{op.name} with a sorter: sort the row first")
    is_right = argument(op, "right", False) is True or argument(op, "side") == "right"
    rows, found = to.value(op.args[0]), to.value(op.args[1])
    count = rank(op.args[1])
    _check_order(to, rows)
    if rank(op.args[0]) > 1:
        rows = scope.emit("Unsqueeze", rows, scope.int64([-2]))
    found = scope.cast(found, rows.dtype or D.FLOAT)
    found = scope.emit("Unsqueeze", found, scope.int64([-1]))
    comes = "Greater" if is_right else "GreaterOrEqual"
    after = scope.emit(comes, rows, found)
    before = scope.cast(scope.emit("Not", after), D.INT64)
    return scope.cast(
        reduced(to, "ReduceSum", before, [count], keep=False), dtype_of_result(to, op)
    )


def in_buckets(to: Lowering, op: Op) -> ir.Value:
    """`bucketize`: `searchsorted` with its operands the other way round."""
    values, bounds = op.args[:2]
    is_right = argument(op, "right", False)
    return searched(to, replace(op, args=(bounds, values), attributes={"right": is_right}))


def _check_order(to: Lowering, rows: ir.Value) -> None:
    """Rows that are not sorted have no places: torch gives some number."""
    scope = to.scope
    last, one = scope.int64([-1]), scope.int64([1])
    some, others = (
        scope.emit("Slice", rows, scope.int64([start]), scope.int64([stop]), last, one)
        for start, stop in ((0, -1), (1, 2**62))
    )  # fmt: skip
    is_sorted = nowhere(to, scope.emit("Less", others, some))
    to.require(is_sorted, "searchsorted of unsorted elements")


def masked_select(to: Lowering, op: Op) -> ir.Value:
    """`masked_select`: the elements where the mask holds, both of one shape first."""
    scope = to.scope
    found, mask = to.value(op.args[0]), to.value(op.args[1])
    sizes = [scope.emit("Shape", one) for one in (found, mask)]
    found = scope.emit("Expand", found, sizes[1])
    mask = scope.emit("Expand", mask, sizes[0])
    flat = [scope.emit("Reshape", one, scope.int64([-1])) for one in (found, mask)]
    return scope.emit("Compress", *flat, axis=0)
