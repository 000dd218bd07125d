"""Batch norm: by the stored statistics, and in training mode, where it changes them."""

from __future__ import annotations

import onnx_ir as ir

from stator.export.onnx.library import rank
from stator.export.onnx.lowering import Lowering
from stator.export.onnx.operands import argument, dtype_of_result, scalar_of
from stator.export.onnx.reductions import reduced
from stator.export.onnx.scope import D, dtype_in
from stator.program.ir import Arg, Op, Value


def batch_norm(to: Lowering, op: Op) -> ir.Value:
    """Batch norm by the stored statistics, or without any."""
    if argument(op, "training") is not False:
        return _by_the_batch(to, op)[0]
    found, dtype = to.value(op.args[0]), dtype_of_result(to, op)
    mean, spread = (to.value(argument(op, name)) for name in ("running_mean", "running_var"))
    if dtype is D.DOUBLE:  # `epsilon` of the node is a float32
        return _normalized(to, op, _column(to, op, mean), _column(to, op, spread))
    ones = to.scope.emit("Shape", mean)
    scale, bias = (
        to.value(arg) if isinstance(arg, Value)
        else to.scope.filled(ones, fill, dtype)
        for arg, fill in ((argument(op, "weight"), 1), (argument(op, "bias"), 0))
    )  # fmt: skip
    epsilon = argument(op, "eps", 1e-5)
    assert isinstance(epsilon, float)
    return to.scope.emit("BatchNormalization", found, scale, bias, mean, spread, epsilon=epsilon)


def trained_batch_norm(to: Lowering, op: Op) -> None:
    """Batch norm by the statistics of the batch, and the stored ones that come of it."""
    found, mean, spread = _by_the_batch(to, op)
    dtype, scope = dtype_in(found), to.scope
    count = scope.scalar("Size", to.value(op.args[0]))
    channels = scope.scalar("Size", mean)
    each = scope.emit("Div", count, channels)
    but_one = scope.emit("Sub", each, scope.int64(1))
    factor = to.scope.emit("Div", scope.cast(each, dtype), scope.cast(but_one, dtype))
    unbiased = to.scope.emit("Mul", spread, factor)
    momentum = scalar_of(to, argument(op, "momentum"), dtype)
    rest = to.scope.emit("Sub", scope.constant(1, dtype), momentum)
    is_empty = scope.scalar("Equal", count, scope.int64(0))  # then the stored ones stay
    to.bind(op.results[0], found)
    names = ("running_mean", "running_var")
    for result, name, new in zip(op.results[3:], names, (mean, unbiased), strict=True):
        stored = to.value(argument(op, name))
        flat = scope.emit("Reshape", new, scope.int64([-1]))
        kept = to.scope.emit("Mul", stored, scope.cast(rest, dtype_in(stored)))
        part = to.scope.emit("Mul", flat, momentum)
        changed = to.scope.emit("Add", kept, scope.cast(part, dtype_in(stored)))
        to.bind(result, scope.emit("Where", is_empty, stored, changed))


def _by_the_batch(to: Lowering, op: Op) -> tuple[ir.Value, ir.Value, ir.Value]:
    """The normalized tensor, and the mean and the variance of each channel."""
    found = to.value(op.args[0])
    axes = [axis for axis in range(rank(op.args[0])) if axis != 1]
    mean = reduced(to, "ReduceMean", found, axes, keep=True)
    distance = to.scope.emit("Sub", found, mean)
    spread = reduced(to, "ReduceMean", to.scope.emit("Mul", distance, distance), axes, keep=True)
    return _normalized(to, op, mean, spread), mean, spread


def _normalized(to: Lowering, op: Op, mean: ir.Value, spread: ir.Value) -> ir.Value:
    found = to.value(op.args[0])
    epsilon = to.scope.constant(argument(op, "eps", 1e-5), dtype_in(found))
    root = to.scope.emit("Sqrt", to.scope.emit("Add", spread, epsilon))
    result = to.scope.emit("Div", to.scope.emit("Sub", found, mean), root)
    for name, node in (("weight", "Mul"), ("bias", "Add")):
        given: Arg = argument(op, name)
        if isinstance(given, Value):
            result = to.scope.emit(node, result, _column(to, op, to.value(given)))
    return result


def _column(to: Lowering, op: Op, vector: ir.Value) -> ir.Value:
    """A value of each channel, as it meets the tensor."""
    shape = to.scope.int64([-1, *[1] * (rank(op.args[0]) - 2)])
    return to.scope.emit("Reshape", vector, shape)
