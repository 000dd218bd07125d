"""Divisions, powers and comparisons, with the promotion and the errors of torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx_ir as ir

from stator.export.onnx.library import arguments_of, call, operand, promoted_dtype
from stator.export.onnx.lowering import Lowering
from stator.export.onnx.operands import argument, dtype_of_result, scalar_of, spread
from stator.export.onnx.reductions import nowhere
from stator.export.onnx.scope import D, dtype_in
from stator.program.ir import Op, Value
from stator.program.registry import resolve
from stator.torch_private.onnx_library import function_of

Rule = Callable[[Lowering, Op], Any]
WHOLE = frozenset({D.INT8, D.INT16, D.INT32, D.INT64, D.UINT8, D.UINT16, D.UINT32, D.UINT64})


def divided(to: Lowering, op: Op) -> None:
    """`//`, `%` and rounded divisions: a division of integers by zero is an error."""
    wanted = promoted_dtype(op, pointwise=True)
    names = list(arguments_of(op))
    divisor = arguments_of(op)[names[1]]
    if wanted is None or wanted.is_floating_point or not isinstance(divisor, Value):
        if wanted is not None and not wanted.is_floating_point and divisor == 0:
            to.refuse(f"{op.name} divides by zero")
        if op.name == "aten::floor_divide" or function_of(resolve(op.name)) is None:
            to.bind(op.results[0], _floor_divide(to, op, wanted))
        else:
            call(to, op)
        return
    found = operand(to, divisor, wanted)
    scope, zero = to.scope, to.scope.constant(0, found.dtype)
    is_zero = scope.emit("Equal", found, zero, shape=found.shape)
    to.check(nowhere(to, is_zero), "RuntimeError", "ZeroDivisionError")
    safe = scope.emit("Where", is_zero, scope.constant(1, found.dtype), found, shape=found.shape)
    to.bind(op.results[0], _whole_division(to, op, operand(to, op.args[0], wanted), safe))


def _whole_division(to: Lowering, op: Op, one: ir.Value, other: ir.Value) -> ir.Value:
    scope = to.scope
    base = op.name.partition(".")[0]
    mode = argument(op, "rounding_mode")
    if base == "aten::fmod":
        return scope.emit("Mod", one, other, fmod=1)
    if base == "aten::div" and mode == "trunc":
        return scope.emit("Div", one, other)
    rest = scope.emit("Mod", one, other, fmod=0)
    if base == "aten::remainder":
        return rest
    return scope.emit("Div", scope.emit("Sub", one, rest), other)


def _floor_divide(to: Lowering, op: Op, wanted: Any) -> ir.Value:
    one, other = (operand(to, arg, wanted) for arg in op.args[:2])
    if wanted.is_floating_point:
        return _floor_of_floats(to, one, other)
    return _whole_division(to, op, one, other)


def _floor_of_floats(to: Lowering, a: ir.Value, b: ir.Value) -> ir.Value:
    """The quotient rounded down, by the remainder, as torch computes it."""
    scope, dtype = to.scope, dtype_in(a)
    zero, one, half = (scope.constant(n, dtype) for n in (0, 1, 0.5))

    node = scope.emit
    rest = node("Mod", a, b, fmod=1)
    quotient = node("Div", node("Sub", a, rest), b)
    signs_differ = node("Xor", node("Less", rest, zero), node("Less", b, zero))
    lower = node("And", node("Not", node("Equal", rest, zero)), signs_differ)
    chosen = node("Where", lower, node("Sub", quotient, one), quotient)
    floor = node("Floor", chosen)
    above = node("Greater", node("Sub", chosen, floor), half)
    rounded = node("Where", above, node("Add", floor, one), floor)
    return node("Where", node("Equal", b, zero), node("Div", a, b), rounded)


def divide(to: Lowering, op: Op) -> None:
    """`div` with a rounding mode; without one it gives fractions."""
    if argument(op, "rounding_mode") is None:
        wanted = promoted_dtype(op, pointwise=True)
        one, other = (operand(to, arg, wanted) for arg in op.args[:2])
        to.bind(op.results[0], to.scope.emit("Div", one, other))
    else:
        divided(to, op)


def powered(to: Lowering, op: Op) -> ir.Value:
    """Powers; of integers only with a constant exponent, by multiplication."""
    dtype = dtype_of_result(to, op)
    base, exponent = op.args[:2]
    if dtype in WHOLE:
        if not isinstance(exponent, int) or not 0 <= exponent <= 16:
            to.refuse("a power of integer tensors needs a constant exponent from 0 to 16 in ONNX")
        found = to.scope.cast(to.value(base), dtype)
        if exponent == 0:
            return spread(to, op, to.scope.constant(1, dtype), None)
        product = found
        for _ in range(int(exponent) - 1):  # type: ignore[arg-type] # an int
            product = to.scope.emit("Mul", product, found)
        return product
    pair = [scalar_of(to, arg, dtype) for arg in (base, exponent)]
    return to.scope.emit("Pow", *pair)


def compared(name: str, *, negated: bool = False) -> Rule:
    """A comparison, in the dtype that both have in common."""

    def lower(to: Lowering, op: Op) -> ir.Value:
        wanted = promoted_dtype(op, pointwise=True)
        pair = [operand(to, arg, wanted) for arg in op.args[:2]]
        if pair[0].dtype is D.BOOL and name != "Equal":
            pair = [to.scope.cast(one, D.INT64) for one in pair]
        found = to.scope.emit(name, *pair)
        return to.scope.emit("Not", found) if negated else found

    return lower
