"""Products of transposed tensors that may be empty.

    MatMul(Transpose(x, [1, 0, 2]), y)   ->   MatMul(Reshape(Transpose(x, [1, 0, 2]), sizes), y)

ONNX Runtime makes one node of the first form. Its kernel divides by the size that is moved from the
first dimension into the matrix, and ends the process if that is 0. A `Reshape` to the same sizes
costs nothing and keeps the nodes apart.
"""

from __future__ import annotations

import onnx_ir as ir

from stator.export.onnx.nodes import each_node, new_node
from stator.export.onnx.scope import D

# nodes that ONNX Runtime moves a Transpose over, or makes part of the product
PASSING = frozenset(
    {"Mul", "Div", "Add", "Sub", "Neg", "Cast", "Identity", "Relu", "Clip", "Tanh", "Sigmoid",
     "Gelu", "Exp", "Sqrt", "Abs", "Pow", "Where", "Max", "Min", "Transpose"}
)  # fmt: skip
MOST_PASSED = 8


def keep_apart(graph: ir.Graph) -> None:
    """Separate such transposes from products in `graph`, and in those inside it."""
    for inner, node in each_node(graph):
        for index, value in enumerate(node.inputs if node.op_type == "MatMul" else ()):
            if value is not None and _may_be_empty(value) and _moves_first(value):
                node.replace_input_with(index, _reshaped(inner, node, value))


def _may_be_empty(value: ir.Value) -> bool:
    shape = value.shape
    return shape is None or not all(isinstance(size, int) and size > 0 for size in shape)


def _moves_first(value: ir.Value, depth: int = 0) -> bool:
    """Whether a Transpose before `value` moves the first dimension of several into the matrix."""
    maker = value.producer()
    if maker is None or maker.op_type not in PASSING or depth > MOST_PASSED:
        return False
    if maker.op_type == "Transpose":
        order = maker.attributes["perm"].as_ints() if "perm" in maker.attributes else None
        if order is None or (len(order) > 2 and 0 in order[-2:]):
            return True
    return any(one is not None and _moves_first(one, depth + 1) for one in maker.inputs)


def _reshaped(graph: ir.Graph, node: ir.Node, value: ir.Value) -> ir.Value:
    """`value` in its own shape, by a node before `node`."""
    rank = None if value.shape is None else ir.Shape([len(value.shape)])
    sizes = new_node(node, "Shape", value, kind=ir.TensorType(D.INT64), shape=rank)
    made = new_node(
        node, "Reshape", value, sizes.outputs[0], kind=value.type, shape=value.shape, allowzero=1
    )
    graph.insert_before(node, [sizes, made])
    return made.outputs[0]
