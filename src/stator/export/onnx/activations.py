"""`gelu`, by a kernel of ONNX Runtime that computes it in one step, and `silu`."""

from __future__ import annotations

import onnx_ir as ir

from stator.export.onnx.library import call
from stator.export.onnx.lowering import Lowering
from stator.export.onnx.operands import argument, dtype_of_result
from stator.export.onnx.scope import D
from stator.program.ir import Op
from stator.program.registry import resolve
from stator.torch_private.onnx_library import function_of

FIRST_OPSET = 20  # that has Gelu


def gelu(to: Lowering, op: Op) -> ir.Value | None:
    """`gelu`: one node, where the opset has it and ONNX Runtime has a kernel for it."""
    if to.opset < FIRST_OPSET or dtype_of_result(to, op) is not D.FLOAT:
        function = function_of(resolve(op.name))
        assert function is not None
        call(to, op, function)
        return None
    approximate = argument(op, "approximate", "none")
    assert isinstance(approximate, str)
    return to.scope.emit(
        "Gelu", to.value(op.args[0]), dtype=D.FLOAT, attributes={"approximate": approximate}
    )


def silu(to: Lowering, op: Op) -> ir.Value:
    """`silu`: x / (1 + exp(-x)), as torch computes it.

    NOTE: why not x * Sigmoid(x), which is one step in ONNX Runtime: its Sigmoid has no correct
    digits below -12, and is 0 below -18.
    """
    dtype, found = dtype_of_result(to, op), to.value(op.args[0])
    wide = D.FLOAT if dtype in (D.FLOAT16, D.BFLOAT16) else dtype
    found = to.scope.cast(found, wide)
    power = to.scope.emit("Exp", to.scope.emit("Neg", found, dtype=wide), dtype=wide)
    whole = to.scope.emit("Add", power, to.scope.constant(1, wide), dtype=wide)
    return to.scope.cast(to.scope.emit("Div", found, whole, dtype=wide), dtype)


def log_sigmoid(to: Lowering, op: Op) -> ir.Value:
    """`logsigmoid`: min(x, 0) - log(1 + exp(-|x|)), which is finite where Sigmoid is 0."""
    dtype, found = dtype_of_result(to, op), to.value(op.args[0])
    wide = D.FLOAT if dtype in (D.FLOAT16, D.BFLOAT16) else dtype
    found, scope = to.scope.cast(found, wide), to.scope
    least = scope.emit("Min", found, scope.constant(0, wide), dtype=wide)
    size = scope.emit("Neg", scope.emit("Abs", found, dtype=wide), dtype=wide)
    power = scope.emit("Exp", size, dtype=wide)
    whole = scope.emit("Add", power, scope.constant(1, wide), dtype=wide)
    result = scope.emit("Sub", least, scope.emit("Log", whole, dtype=wide), dtype=wide)
    return scope.cast(result, dtype)
