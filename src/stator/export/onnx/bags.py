"""`embedding_bag`: rows of a table, summed up by groups of unknown sizes."""

from __future__ import annotations

import math
import sys

import onnx_ir as ir

from stator.export.onnx.indexing import check_indices
from stator.export.onnx.layers import size_at
from stator.export.onnx.lowering import Lowering
from stator.export.onnx.operands import argument, dtype_of_result
from stator.export.onnx.reductions import nowhere
from stator.export.onnx.scope import D, dtype_in
from stator.program.ir import Op, Value

SUM, MEAN, MAX = range(3)


def embedding_bag(to: Lowering, op: Op) -> None:
    """The sum, the mean or the greatest of the rows of each bag; of none, 0."""
    scope, dtype, mode = to.scope, dtype_of_result(to, op), argument(op, "mode", SUM)
    check_indices(to, argument(op, "indices"))
    starts = scope.cast(to.value(argument(op, "offsets")), D.INT64)
    indices = scope.cast(to.value(argument(op, "indices")), D.INT64)
    if argument(op, "include_last_offset", False):
        starts = _without_the_last(to, starts, indices)
    _check_starts(to, starts, indices)
    rows = scope.emit("Gather", to.value(op.args[0]), indices)
    weights = argument(op, "per_sample_weights")
    if isinstance(weights, Value):
        rows = to.scope.emit("Mul", rows, _column(to, to.value(weights)))
    skipped = _skipped(to, op, indices)
    if skipped is not None:
        nothing = scope.constant(-math.inf if mode == MAX else 0, dtype)
        rows = scope.emit("Where", _column(to, skipped), nothing, rows)
    bags = _bags(to, indices, starts)
    counts = _counts(to, bags, starts, skipped)
    found = _joined(to, op, rows, bags, starts)
    if mode == MEAN:
        least = scope.emit("Max", counts, scope.int64(1))
        found = to.scope.emit("Div", found, _column(to, scope.cast(least, dtype)))
    if mode == MAX:
        is_empty = scope.emit("Equal", counts, scope.int64(0))
        found = scope.emit("Where", _column(to, is_empty), scope.constant(0, dtype), found)
    to.bind(op.results[0], found)


def _without_the_last(to: Lowering, offsets: ir.Value, indices: ir.Value) -> ir.Value:
    """The last offset is the end of the last bag: all indices belong to some bag."""
    scope = to.scope
    last = scope.scalar("Gather", offsets, scope.int64(-1))
    count = scope.scalar("Size", indices)
    text = "the last offset of embedding_bag is not the number of indices"
    to.require(scope.scalar("Equal", last, count), text)
    return scope.emit("Slice", offsets, scope.int64([0]), scope.int64([-1]))


def _check_starts(to: Lowering, starts: ir.Value, indices: ir.Value) -> None:
    """The first bag starts at 0, and none after the end."""
    scope = to.scope
    first = scope.emit("Slice", starts, scope.int64([0]), scope.int64([1]))
    count = scope.scalar("Size", indices)
    is_late = scope.emit("Greater", first, scope.int64([0]))
    is_beyond = scope.emit("Greater", starts, count)
    flags = scope.emit("Concat", is_beyond, is_late, axis=0)
    text = "offsets have to start at 0 and to be within the input"
    to.check(nowhere(to, flags), "RuntimeError", text)
    later = scope.emit("Slice", starts, scope.int64([1]), scope.int64([sys.maxsize]))
    before = scope.emit("Slice", starts, scope.int64([0]), scope.int64([-1]))
    rises = nowhere(to, scope.emit("Less", later, before))
    to.require(rises, "an offset of embedding_bag is smaller than the one before")


def _column(to: Lowering, vector: ir.Value) -> ir.Value:
    return to.scope.emit("Unsqueeze", vector, to.scope.int64([1]))


def _skipped(to: Lowering, op: Op, indices: ir.Value) -> ir.Value | None:
    padding = argument(op, "padding_idx")
    if not isinstance(padding, int) or padding < 0:
        return None
    return to.scope.emit("Equal", indices, to.scope.int64(padding))


def _bags(to: Lowering, indices: ir.Value, starts: ir.Value) -> ir.Value:
    """The bag of each index: the last that starts at it or before."""
    scope = to.scope
    count = scope.scalar("Size", indices)
    places = scope.emit("Range", scope.int64(0), count, scope.int64(1))
    begun = scope.emit("LessOrEqual", starts, _column(to, places))
    number = scope.emit("ReduceSum", scope.cast(begun, D.INT64), scope.int64([1]), keepdims=0)
    return to.scope.emit("Sub", number, scope.int64(1))


def _counts(
    to: Lowering, bags: ir.Value, starts: ir.Value, skipped: ir.Value | None
) -> ir.Value:  # fmt: skip
    """How many rows each bag has."""
    scope = to.scope
    zeros, ones = (
        scope.filled(scope.emit("Shape", like), number, D.INT64)
        for like, number in ((starts, 0), (bags, 1))
    )
    if skipped is not None:
        ones = to.scope.emit("Sub", ones, scope.cast(skipped, D.INT64))
    return scope.emit("ScatterElements", zeros, bags, ones, axis=0, reduction="add")


def _joined(
    to: Lowering, op: Op, rows: ir.Value, bags: ir.Value, starts: ir.Value
) -> ir.Value:  # fmt: skip
    """The rows of each bag as one."""
    scope, dtype, is_max = to.scope, dtype_in(rows), argument(op, "mode", SUM) == MAX
    sizes = [scope.emit("Shape", starts), size_at(to, op.args[0], 1)]
    shape = scope.emit("Concat", *sizes, axis=0)
    fill = scope.constant(-math.inf if is_max else 0, dtype)
    start = scope.emit("Expand", fill, shape)
    places = scope.emit("Expand", _column(to, bags), scope.emit("Shape", rows))
    reduction = "max" if is_max else "add"
    return scope.emit("ScatterElements", start, places, rows, axis=0, reduction=reduction)
