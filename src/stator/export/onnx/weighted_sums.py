"""Activations whose values only weighted sums read, by the kernels of ONNX Runtime.

    Clip(Tanh(x), -1, 1)        ->   Tanh(x)
    Div(x, Add(Exp(Neg(x)), 1)) ->   Mul(x, Sigmoid(x)), which ONNX Runtime computes in one step

The kernels of Tanh and Sigmoid are up to 3e-6 away from torch's values and may leave their ranges
by a rounding (`ranges`). A comparison or a logarithm would show that. A product with a matrix of
weights, or a convolution, has larger roundings of its own.
"""

from __future__ import annotations

import onnx_ir as ir

from stator.export.onnx.nodes import each_node, first_input, maker_of, new_node
from stator.export.onnx.scope import D

WEIGHTED = frozenset({"MatMul", "Gemm", "Conv"})  # the second input is a matrix of weights
PASSING = frozenset(
    {"Add", "Mul", "Reshape", "Transpose", "Identity", "Unsqueeze", "Squeeze"}
)  # nodes that leave rounding errors as they are


def use_kernels(graph: ir.Graph) -> None:
    """Replace the formulas in `graph`, and in those inside it."""
    for inner, node in each_node(graph):
        if node.op_type == "Clip":
            _use_tanh(inner, node)
        elif node.op_type == "Div":
            _use_sigmoid(inner, node)


def _use_tanh(graph: ir.Graph, node: ir.Node) -> None:
    found, (output,) = node.inputs[0], node.outputs
    if found is None or maker_of(found, "Tanh") is None or not _is_summed(output):
        return
    found.type, found.shape = output.type, output.shape
    output.replace_all_uses_with(found)
    graph.remove(node, safe=True)


def _use_sigmoid(graph: ir.Graph, node: ir.Node) -> None:
    given, whole = node.inputs
    (output,) = node.outputs
    power = first_input(first_input(whole, "Add"), "Exp")
    if given is None or given.dtype is not D.FLOAT or first_input(power, "Neg") is not given:
        return
    if not _is_summed(output) or whole is None or len(whole.uses()) != 1:
        return
    sigmoid = new_node(node, "Sigmoid", given, kind=output.type, shape=output.shape)
    graph.insert_before(node, sigmoid)
    node.op_type = "Mul"
    node.replace_input_with(1, sigmoid.outputs[0])
    unused: ir.Value | None = whole
    for _ in range(3):
        maker = unused.producer() if unused is not None else None
        if maker is None or any(one.uses() for one in maker.outputs):
            return
        unused = maker.inputs[0]
        graph.remove(maker, safe=True)


def _is_summed(value: ir.Value) -> bool:
    """Whether `value` is only read, perhaps multiplied or moved before, by sums with weights."""
    if value.is_graph_output() or not value.uses():
        return False
    for user, index in value.uses():
        if user.op_type in WEIGHTED and index == 0:
            weights = user.inputs[1]
            if weights is None or not _is_weights(weights):
                return False
        elif user.op_type not in PASSING or not all(map(_is_summed, user.outputs)):
            return False
    return True


def _is_weights(value: ir.Value) -> bool:
    """Whether `value` is stored in the model, perhaps transposed."""
    if value.is_initializer():
        return True
    moved = first_input(value, "Transpose")
    return moved is not None and moved.is_initializer()
