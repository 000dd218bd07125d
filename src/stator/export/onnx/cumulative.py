"""Cumulative products and extremes, by a `Scan` along the dimension.

ONNX Runtime has no `Scan` of no rows, so one more row is put after the last, and taken off.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from stator.export.onnx.library import rank
from stator.export.onnx.lowering import Lowering
from stator.export.onnx.operands import dimension, dtype_of_result, own_copy
from stator.export.onnx.reductions import without_nan
from stator.export.onnx.scope import D, GraphScope, dtype_in
from stator.program.ir import Op
from stator.torch_private.onnx_library import new_value


def product_so_far(to: Lowering, op: Op) -> ir.Value:
    """`cumprod`."""
    dtype = dtype_of_result(to, op)
    found = to.scope.cast(to.value(op.args[0]), dtype)
    if not rank(op.args[0]):
        return own_copy(to, found)
    axis = dimension(to, op)
    ones = _row(to, found, axis, 1, dtype)
    scope, (before, item) = _body(to, [dtype, dtype])
    now = scope.emit("Mul", before, item)
    body = to.graph("product", [now, _copy(scope, now)])
    (result,) = _scanned(to, body, [ones], found, axis, rank(op.args[0]), [dtype])
    return result


def extreme_so_far(to: Lowering, op: Op) -> None:
    """`cummax` and `cummin`, with the place of the last of equal ones."""
    dtype, is_max = dtype_of_result(to, op), op.name == "aten::cummax"
    found = to.value(op.args[0])
    if dtype is D.BOOL:
        to.refuse(f"{op.name} of bool has no counterpart in ONNX", "convert it to integers")
    without_nan(to, op)
    if not rank(op.args[0]):
        to.bind(op.results[0], own_copy(to, found))
        to.bind(op.results[1], own_copy(to, to.scope.int64(0)))
        return
    axis = dimension(to, op)
    start = _row(to, found, axis, _furthest(dtype, low=is_max), dtype)
    place = _row(to, found, axis, 0, D.INT64)
    scope, (before, where, count, item) = _body(to, [dtype, D.INT64, D.INT64, dtype])
    is_new = scope.emit("GreaterOrEqual" if is_max else "LessOrEqual", item, before)
    now = scope.emit("Where", is_new, item, before)
    places = scope.emit("Where", is_new, count, where)
    following = scope.scalar("Add", count, scope.int64(1))
    body = to.graph("extreme", [now, places, following, _copy(scope, now), _copy(scope, places)])
    results = _scanned(to, body, [start, place], found, axis, rank(op.args[0]), [dtype, D.INT64])
    for value, result in zip(op.results, results, strict=True):
        to.bind(value, result)


def _furthest(dtype: ir.DataType, *, low: bool) -> float:
    """The lowest or the highest number."""
    if dtype.is_floating_point():
        return float("-inf") if low else float("inf")
    limits = np.iinfo(dtype.numpy())
    return int(limits.min if low else limits.max)


def _row(to: Lowering, found: ir.Value, axis: int, number: float, dtype: ir.DataType) -> ir.Value:
    """A tensor like `found` with one row along `axis`, of `number`."""
    sizes = to.scope.emit("Shape", found)
    shape = to.scope.emit("ScatterElements", sizes, to.scope.int64([axis]), to.scope.int64([1]))
    return to.scope.filled(shape, number, dtype)


def _body(to: Lowering, kinds: Sequence[ir.DataType]) -> tuple[GraphScope, list[ir.Value]]:
    """A graph for each row, and its inputs."""
    scope = to.inner()
    scope.inputs = [new_value("", ir.TensorType(kind), None) for kind in kinds]
    return scope, scope.inputs


def _copy(scope: GraphScope, value: ir.Value) -> ir.Value:
    return scope.emit("Identity", value, kind=value.type)


def _scanned(
    to: Lowering,
    body: ir.Graph,
    rows: Sequence[ir.Value],
    found: ir.Value,
    axis: int,
    count: int,
    kinds: Sequence[ir.DataType],
) -> list[ir.Value]:
    """What `body` gives for each row of `found`; `rows`, and a count, are what it begins with."""
    scope, axes = to.scope, to.scope.int64([axis])
    order = [*range(count)]
    order[0], order[axis] = axis, 0

    def moved(value: ir.Value) -> ir.Value:  # `Scan` itself divides by the size of a row
        return scope.emit("Transpose", value, perm=order)

    longer = scope.emit("Concat", found, rows[0], axis=axis)
    states = [scope.emit("Squeeze", row, axes) for row in rows]
    states += [scope.int64(0)] * (len(body.inputs) - 1 - len(rows))
    last = [new_value("", ir.TensorType(dtype_in(state)), None) for state in states]
    results = [new_value("", ir.TensorType(kind), None) for kind in kinds]
    attributes = {"body": body, "num_scan_inputs": 1}
    scope.node("Scan", [*states, moved(longer)], [*last, *results], attributes)
    bounds = [scope.int64([0]), scope.int64([-1]), scope.int64([0])]
    shorter = [scope.emit("Slice", one, *bounds) for one in results]
    return [moved(one) for one in shorter]
