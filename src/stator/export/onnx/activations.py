"""`gelu`, by a kernel of ONNX Runtime that computes it in one step, `silu`, and other formulas."""

from __future__ import annotations

import onnx_ir as ir

from stator.export.onnx.library import call
from stator.export.onnx.lowering import Lowering
from stator.export.onnx.operands import argument, dtype_of_result
from stator.export.onnx.scope import D
from stator.program.ir import Op

FIRST_OPSET = 20  # that has Gelu


def gelu(to: Lowering, op: Op) -> ir.Value | None:
    """`gelu`: one node, where the opset has it and ONNX Runtime has a kernel for it."""
    if to.opset < FIRST_OPSET or dtype_of_result(to, op) is not D.FLOAT:
        call(to, op)
        return None
    approximate = argument(op, "approximate", "none")
    assert isinstance(approximate, str)
    return to.scope.emit("Gelu", to.value(op.args[0]), approximate=approximate)


def silu(to: Lowering, op: Op) -> ir.Value:
    """`silu`: x / (1 + exp(-x)), as torch computes it.

    NOTE: why not x * Sigmoid(x), which is one step in ONNX Runtime: its Sigmoid has no correct
    digits below -12, and is 0 below -18.
    """
    dtype, found = dtype_of_result(to, op), to.value(op.args[0])
    wide = D.FLOAT if dtype in (D.FLOAT16, D.BFLOAT16) else dtype
    found = to.scope.cast(found, wide)
    power = to.scope.emit("Exp", to.scope.emit("Neg", found))
    whole = to.scope.emit("Add", power, to.scope.constant(1, wide))
    return to.scope.cast(to.scope.emit("Div", found, whole), dtype)


def log_sigmoid(to: Lowering, op: Op) -> ir.Value:
    """`logsigmoid`: min(x, 0) - log(1 + exp(-|x|)), which is finite where Sigmoid is 0."""
    dtype, found = dtype_of_result(to, op), to.value(op.args[0])
    wide = D.FLOAT if dtype in (D.FLOAT16, D.BFLOAT16) else dtype
    found, scope = to.scope.cast(found, wide), to.scope
    least = scope.emit("Min", found, scope.constant(0, wide))
    size = scope.emit("Neg", scope.emit("Abs", found))
    power = scope.emit("Exp", size)
    whole = scope.emit("Add", power, scope.constant(1, wide))
    result = scope.emit("Sub", least, scope.emit("Log", whole))
    return scope.cast(result, dtype)


def hypotenuse(to: Lowering, op: Op) -> ir.Value:
    """`hypot`: m * sqrt((a / m)^2 + (b / m)^2), where m is the greater one: no square overflows."""
    scope, dtype = to.scope, dtype_of_result(to, op)
    sides = [scope.cast(to.value(arg), dtype) for arg in op.args[:2]]
    sides = [scope.emit("Abs", side) for side in sides]
    most = scope.emit("Max", *sides)
    zero, infinite = scope.constant(0, dtype), scope.constant(float("inf"), dtype)
    fine = scope.emit("And", scope.emit("Greater", most, zero), scope.emit("Less", most, infinite))
    unit = scope.emit("Where", fine, most, scope.constant(1, dtype))
    parts = [scope.emit("Div", side, unit) for side in sides]
    squares = [scope.emit("Mul", part, part) for part in parts]
    root = scope.emit("Sqrt", scope.emit("Add", *squares))
    whole = scope.emit("Mul", unit, root)
    is_infinite = [scope.emit("Equal", side, infinite) for side in sides]
    either = scope.emit("Or", *is_infinite)  # also where the other one is NaN
    return scope.emit("Where", either, infinite, whole)


def copy_of_sign(to: Lowering, op: Op) -> ir.Value:
    """`copysign`: the size of one, with the sign of the other, -0 included."""
    scope, dtype = to.scope, dtype_of_result(to, op)
    found, other = (scope.cast(to.value(arg), dtype) for arg in op.args[:2])
    size, zero = scope.emit("Abs", found), scope.constant(0, dtype)
    inverse = scope.emit("Div", scope.constant(1, dtype), other)  # -inf of -0
    is_negative = [scope.emit("Less", one, zero) for one in (other, inverse)]
    negative = scope.emit("Or", *is_negative)
    return scope.emit("Where", negative, scope.emit("Neg", size), size)
