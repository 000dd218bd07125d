"""Pools and sliding windows: torch raises an error for sizes where ONNX gives an empty result."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from stator.export.onnx.library import arguments_of, bind_one, call
from stator.export.onnx.lowering import Lowering
from stator.export.onnx.operands import argument, tensor_type
from stator.export.onnx.scope import dtype_in
from stator.program.ir import Arg, Op, Value

POOL = re.compile(r"pool(\d)d")
TOO_SMALL = "the input is too small for the window"


def pooled(to: Lowering, op: Op) -> None:
    """A pool as the library writes it, which ignores `divisor_override`."""
    if argument(op, "divisor_override") is not None:
        _divided_pool(to, op)
        return
    _check_sizes(to, op.args[0], [1, *_least_sizes(to, op)])
    call(to, op)


def windowed(to: Lowering, op: Op) -> None:
    """`unfold` as the library writes it: there is a window at least."""
    call(to, op)
    _check_sizes(to, op.results[0], [1])


def _check_sizes(to: Lowering, value: Arg, least: Sequence[int]) -> None:
    """An error unless the last sizes of a tensor, but not that of a batch, are these at least."""
    shape = tensor_type(value).shape
    least = least[-len(shape) :]
    pairs = zip(shape[-len(least) :], least, strict=True)
    if all(isinstance(size, int) and size >= number for size, number in pairs):
        return
    scope, start = to.scope, len(shape) - len(least)
    sizes = scope.emit("Shape", to.value(value), shape=[len(least)], start=start)
    more = scope.emit("Sub", sizes, scope.int64(least), shape=[len(least)])
    spare = scope.scalar("ReduceMin", more, keepdims=0)
    to.check(scope.scalar("GreaterOrEqual", spare, scope.int64(0)), "RuntimeError", TOO_SMALL)


def _least_sizes(to: Lowering, op: Op) -> list[int]:
    """The sizes that a window needs; with `ceil_mode`, part of one is enough."""
    kernel = _numbers(to, op, "kernel_size", 1)
    strides = _numbers(to, op, "stride", 0)
    padding, dilation = _numbers(to, op, "padding", 0), _numbers(to, op, "dilation", 1)
    part = argument(op, "ceil_mode", False) is True
    return [
        max(1, d * (k - 1) + 1 - 2 * p - (((s or k) - 1) if part else 0))
        for k, s, p, d in zip(kernel, strides, padding, dilation, strict=True)
    ]


def _numbers(to: Lowering, op: Op, name: str, default: int) -> list[int]:
    """One number for each dimension of the window."""
    count = int(POOL.search(op.name)[1])  # type: ignore[index]
    found = argument(op, name) or default
    items = found if isinstance(found, tuple) else (found,)
    if not all(isinstance(item, int) for item in items):
        to.refuse(f"{op.name} needs a constant {name}")
    return [int(item) for item in items] * (count if len(items) == 1 else 1)  # type: ignore[arg-type]


def _divided_pool(to: Lowering, op: Op) -> None:
    """An average with a divisor of its own: the sums, which are averages with the padding."""
    named = arguments_of(op)
    divisor, kernel = named.pop("divisor_override"), _numbers(to, op, "kernel_size", 1)
    if not isinstance(divisor, int) or named.get("ceil_mode"):
        to.refuse(f"{op.name} with `divisor_override` has no counterpart in ONNX with `ceil_mode`")
    assert isinstance(divisor, int)
    between = Value("pooled", op.results[0].type)
    tensor = named.pop("self")
    pooled(to, replace(op, args=(tensor,), attributes=named | {"count_include_pad": True},
                       results=(between,)))  # fmt: skip
    found = to.value(between)
    factor = to.scope.constant(math.prod(kernel) / divisor, dtype_in(found))
    bind_one(to, op.results[0], to.scope.emit("Mul", found, factor))
