"""Sigmoid and Tanh whose results stay in their ranges.

NOTE: why their kernels in ONNX Runtime are not enough. For float32, both give 1.0000001 for some
inputs, and Sigmoid gives 0 below -18. An error of 1e-7 looks harmless, but `log(1 - y)` is then
NaN, `log(y)` is infinite, and `while y > 1` takes another path than in torch.
"""

from __future__ import annotations

import onnx_ir as ir

from stator.export.onnx.scope import D, GraphScope

SMALL = (D.FLOAT16, D.BFLOAT16)  # which torch computes in float32


def keep_ranges(scope: GraphScope, start: int, result: ir.DataType | None) -> None:
    """Write out Sigmoid and Tanh among the nodes of `scope` from the one numbered `start` on.

    `result` is the element type of what the nodes compute; those between may have none yet.
    """
    added = scope.nodes[start:]
    if not any(node.op_type in RULES for node in added):
        return
    del scope.nodes[start:]
    scope.nodes.extend(node for node in added if node.op_type == "Constant")  # they may be used
    for node in added:
        if node.op_type in RULES:
            given = node.inputs[0]
            assert given is not None
            dtype = given.dtype or result
            assert dtype is not None
            RULES[node.op_type](scope, node, given, dtype)
        if node.op_type != "Constant":
            scope.nodes.append(node)


def _sigmoid(scope: GraphScope, node: ir.Node, given: ir.Value, dtype: ir.DataType) -> None:
    """1 / (1 + exp(-x)), as torch computes it."""
    wide = D.FLOAT if dtype in SMALL else dtype
    one = scope.constant(1, wide)
    if wide is not dtype:
        given = scope.cast(given, wide)
    negative = scope.emit("Neg", given)
    power = scope.emit("Exp", negative)
    whole = scope.emit("Add", power, one)
    if wide is dtype:
        _become(node, "Div", one, whole)
        return
    _become(node, "Cast", scope.emit("Div", one, whole))
    node.attributes["to"] = ir.AttrInt64("to", int(dtype))


def _tanh(scope: GraphScope, node: ir.Node, given: ir.Value, dtype: ir.DataType) -> None:
    """Between -1 and 1; the kernels of other types than float32 keep to that."""
    if dtype is not D.FLOAT:
        return
    found = scope.emit("Tanh", given)
    _become(node, "Clip", found, scope.constant(-1, dtype), scope.constant(1, dtype))


def _become(node: ir.Node, op: str, *inputs: ir.Value) -> None:
    """`node` computes what it gives in another way."""
    node.op_type = op
    node.resize_inputs(len(inputs))
    for index, value in enumerate(inputs):
        node.replace_input_with(index, value)


RULES = {"Sigmoid": _sigmoid, "Tanh": _tanh}
