"""Sums, extremes and variances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx_ir as ir

from stator.export.onnx.library import (
    call,
    rank,
)
from stator.export.onnx.lowering import Lowering
from stator.export.onnx.operands import (
    argument,
    dimension,
    dtype_of_result,
    own_copy,
    shape_of,
    tensor_type,
)
from stator.export.onnx.scope import D
from stator.program.ir import Op
from stator.program.registry import resolve
from stator.program.sizes import is_static
from stator.torch_private.onnx_library import function_of

Rule = Callable[[Lowering, Op], Any]


def without_nan(to: Lowering, op: Op) -> None:
    """A check that no element is NaN: ONNX Runtime orders NaN in another way than torch."""
    found = to.value(op.args[0])
    if found.dtype not in (D.FLOAT, D.DOUBLE, D.FLOAT16, D.BFLOAT16):
        return
    flags = to.scope.cast(to.scope.emit("IsNaN", found, dtype=D.BOOL), D.INT64)
    count = to.scope.emit("ReduceSum", flags, dtype=D.INT64, shape=[], attributes={"keepdims": 0})
    fine = to.scope.boolean("Equal", count, to.scope.int64(0))
    to.check(fine, "RuntimeError", f"{op.name} of NaN, which ONNX Runtime orders in another way")


def ordered(to: Lowering, op: Op) -> None:
    """`sort` and `topk`."""
    without_nan(to, op)
    function = function_of(resolve(op.name))
    assert function is not None
    call(to, op, function)


def extreme_along(to: Lowering, op: Op) -> ir.Value:
    """`amax` and `amin`."""
    without_nan(to, op)
    kind, dims = tensor_type(op.args[0]), argument(op, "dim", ())
    if not is_static(kind.shape) or 0 in kind.shape:
        size = to.scope.emit("Size", to.value(op.args[0]), dtype=D.INT64, shape=[])
        some = to.scope.boolean("Greater", size, to.scope.int64(0))
        to.check(some, "RuntimeError", f"{op.name}: the tensor has no elements")
    dims = dims if isinstance(dims, tuple) else (dims,)
    count, dtype = rank(op.args[0]), dtype_of_result(to, op)
    if dtype is D.BOOL or not count:
        to.refuse(f"{op.name} of booleans, or of a tensor without dimensions")
    chosen = [dim % count for dim in dims if isinstance(dim, int)] or [*range(count)]
    node = "ReduceMax" if op.name == "aten::amax" else "ReduceMin"
    keep = int(bool(argument(op, "keepdim", False)))
    axes = to.scope.int64(chosen)
    return to.scope.emit(
        node, to.value(op.args[0]), axes, dtype=dtype, attributes={"keepdims": keep}
    )


def of_elements(to: Lowering, op: Op) -> None:
    """A reduction that an empty tensor does not have."""
    kind = tensor_type(op.args[0])
    if not is_static(kind.shape) or 0 in kind.shape:
        count = to.scope.emit("Size", to.value(op.args[0]), dtype=D.INT64, shape=[])
        some = to.scope.boolean("Greater", count, to.scope.int64(0))
        to.check(some, "RuntimeError", f"{op.name}: the tensor has no elements")
    without_nan(to, op)
    if kind.dtype == "bool":
        to.refuse(f"{op.name} of booleans", "convert to integers first")
    function = function_of(resolve(op.name))
    assert function is not None
    call(to, op, function)


def summed(to: Lowering, op: Op) -> None:
    """Sums and products: in the dtype of the result."""
    dtype, name = dtype_of_result(to, op), op.name.partition(".")[0].removeprefix("aten::")
    found = to.scope.cast(to.value(op.args[0]), dtype)
    dims, keep = argument(op, "dim"), argument(op, "keepdim", False)
    if name == "cumsum":
        axis = to.scope.int64(dimension(to, op))
        result = (
            found if not rank(op.args[0]) else to.scope.emit("CumSum", found, axis, dtype=dtype)
        )
        to.bind(op.results[0], own_copy(to, result))
        return
    if isinstance(dims, int):
        dims = (dims,)
    count = rank(op.args[0])
    axes = None
    if isinstance(dims, tuple) and dims and count:
        axes = to.scope.int64([int(dim) % count for dim in dims])  # type: ignore[arg-type]
    node = {"sum": "ReduceSum", "prod": "ReduceProd", "mean": "ReduceMean"}[name]
    if not count:
        to.bind(op.results[0], own_copy(to, found))
        return
    result = to.scope.emit(node, found, axes, dtype=dtype, attributes={"keepdims": int(bool(keep))})
    to.bind(op.results[0], result)


def variance(to: Lowering, op: Op) -> ir.Value:
    """`var` and `std` with a correction."""
    scope, dtype = to.scope, dtype_of_result(to, op)
    found, count = to.value(op.args[0]), rank(op.args[0])
    dims, keep = argument(op, "dim"), bool(argument(op, "keepdim", False))
    correction = argument(op, "correction", 1)
    correction = 1 if correction is None else correction
    chosen = (
        sorted(d % count for d in dims if isinstance(d, int))
        if isinstance(dims, tuple) and dims
        else [*range(count)]
    )
    axes = scope.int64(chosen)
    mean = scope.emit("ReduceMean", found, axes, dtype=dtype, attributes={"keepdims": 1})
    distance = scope.emit("Sub", found, mean, dtype=dtype)
    squares = scope.emit("Mul", distance, distance, dtype=dtype)
    total = scope.emit("ReduceSum", squares, axes, dtype=dtype, attributes={"keepdims": int(keep)})
    sizes = scope.emit("Gather", shape_of(to, op.args[0]), axes, dtype=D.INT64)
    number_of = scope.emit("ReduceProd", sizes, dtype=D.INT64, shape=[], attributes={"keepdims": 0})
    divisor = scope.emit("Sub", scope.cast(number_of, dtype), scope.constant(correction, dtype),
                         dtype=dtype, shape=[])  # fmt: skip
    divisor = scope.emit("Max", divisor, scope.constant(0, dtype), dtype=dtype, shape=[])
    result = scope.emit("Div", total, divisor, dtype=dtype)
    return scope.emit("Sqrt", result, dtype=dtype) if op.name.startswith("aten::std") else result
