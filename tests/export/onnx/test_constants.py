"""Constants that are made of constants."""

import numpy as np
import onnx_ir as ir
import pytest

from stator.export.onnx.constants import array_of, fold_constants


def constant(value):
    tensor = ir.AttrTensor("value", ir.tensor(value))
    return ir.Node("", "Constant", [], [tensor], num_outputs=1)


def whole(op, attributes, *values):
    """A graph that adds what a node makes of constants to its input, after folding."""
    parts = [constant(value) for value in values]
    made = ir.convenience.convert_attributes(attributes)
    node = ir.Node("", op, [part.outputs[0] for part in parts], made, num_outputs=1)
    given = ir.Value(name="x")
    last = ir.Node("", "Add", [given, node.outputs[0]], num_outputs=1)
    graph = ir.Graph([given], last.outputs, nodes=[*parts, node, last], name="g")
    fold_constants(graph)
    return graph, last


CASES = (
    ("Cast", {"to": int(ir.DataType.FLOAT)}, ([3, 4],), np.array([3, 4], np.float32)),
    ("Reshape", {}, ([3, 4], [2, 1]), np.array([[3], [4]])),
    ("Unsqueeze", {}, ([3, 4], [0]), np.array([[3, 4]])),
    ("Squeeze", {}, ([[3, 4]], [0]), np.array([3, 4])),
    ("Concat", {"axis": 0}, ([3], [4]), np.array([3, 4])),
)


@pytest.mark.parametrize(("op", "attributes", "values", "wanted"), CASES)
def test_a_node_is_its_value(op, attributes, values, wanted):
    graph, last = whole(op, attributes, *values)
    assert [node.op_type for node in graph] == ["Constant", "Add"]
    found = array_of(last.inputs[1])
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


def test_a_size_that_is_copied_stays():
    graph, _ = whole("Reshape", {}, [3, 4], [0])
    assert [node.op_type for node in graph] == ["Constant", "Constant", "Reshape", "Add"]


def test_a_cast_of_floats_to_integers_stays():
    graph, _ = whole("Cast", {"to": int(ir.DataType.INT64)}, [2.5])
    assert [node.op_type for node in graph] == ["Constant", "Cast", "Add"]
