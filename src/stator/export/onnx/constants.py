"""Constants that are made of constants.

    Reshape(Cast(3), [-1])   ->   [3]

Torch's function library writes such nodes around sizes and dimensions. Without them, ONNX's own
inference sees the sizes, and a reader of the graph fewer nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx_ir as ir

from stator.export.onnx.nodes import each_node, new_node, replace
from stator.export.onnx.scope import D

MOST = 64  # elements
FOLDED = frozenset({D.INT64, D.INT32, D.FLOAT, D.DOUBLE, D.BOOL})
Arrays = list[Any]


def fold_constants(graph: ir.Graph) -> None:
    """Fold such nodes in `graph`, and in those inside it."""
    for inner, node in each_node(graph):
        found = _folded(node)
        if found is not None:
            _replace(inner, node, found)
    for inner, node in each_node(graph):
        output = node.outputs[0]
        if node.op_type == "Constant" and not output.uses() and not output.is_graph_output():
            inner.remove(node, safe=True)


def count_from_first(graph: ir.Graph) -> None:
    """Give reductions dimensions that are counted from the first.

    ONNX Runtime is wrong about others where a tensor has no elements.
    """
    for inner, node in each_node(graph):
        if not node.op_type.startswith("Reduce") or len(node.inputs) < 2:
            continue
        given, axes = node.inputs[0], array_of(node.inputs[1])
        if given is None or given.shape is None or axes is None or not (axes < 0).any():
            continue
        made = _constant(node, np.where(axes < 0, axes + len(given.shape), axes))
        inner.insert_before(node, made)
        node.replace_input_with(1, made.outputs[0])


def _folded(node: ir.Node) -> Any:
    """What a node gives, if it is known; None otherwise."""
    rule = RULES.get(node.op_type)
    if rule is None or len(node.outputs) != 1 or node.outputs[0].is_graph_output():
        return None
    arrays = [array_of(value) for value in node.inputs]
    if not arrays or any(array is None or array.size > MOST for array in arrays):
        return None
    found = rule(node, arrays)
    return found if found is not None and ir.DataType.from_numpy(found.dtype) in FOLDED else None


def array_of(value: ir.Value | None) -> Any:
    """The elements of a constant; None for what is no constant."""
    maker = value.producer() if value is not None else None
    if maker is None or maker.op_type != "Constant":
        return None
    ((name, attribute),) = maker.attributes.items()
    if name == "value":
        tensor = attribute.as_tensor()
        return tensor.numpy() if tensor.dtype in FOLDED else None
    kind = {"value_int": np.int64, "value_ints": np.int64, "value_float": np.float32,
            "value_floats": np.float32}.get(name)  # fmt: skip
    return None if kind is None else np.array(attribute.value, dtype=kind)


def _replace(graph: ir.Graph, node: ir.Node, found: Any) -> None:
    made = _constant(node, found)
    made.outputs[0].meta.update(dict(node.outputs[0].meta))
    replace(graph, node, made)


def _constant(like: ir.Node, array: Any) -> ir.Node:
    tensor = ir.Tensor(np.ascontiguousarray(array).reshape(array.shape))
    kind = ir.TensorType(ir.DataType.from_numpy(array.dtype))
    return new_node(like, "Constant", kind=kind, shape=ir.Shape(array.shape), value=tensor)


def _cast(node: ir.Node, arrays: Arrays) -> Any:
    wanted = ir.DataType(node.attributes["to"].as_int())
    whole = wanted in (D.INT64, D.INT32)
    if wanted not in FOLDED or (whole and arrays[0].dtype.kind == "f"):
        return None
    return arrays[0].astype(wanted.numpy())


def _reshape(_node: ir.Node, arrays: Arrays) -> Any:
    array, sizes = arrays
    return None if 0 in sizes else array.reshape([int(size) for size in sizes])


def _unsqueeze(_node: ir.Node, arrays: Arrays) -> Any:
    array, axes = arrays
    return np.expand_dims(array, tuple(int(axis) for axis in axes.reshape(-1)))


def _squeeze(_node: ir.Node, arrays: Arrays) -> Any:
    axes = tuple(int(axis) for axis in arrays[1].reshape(-1)) if len(arrays) > 1 else None
    return np.squeeze(arrays[0], axes)


def _concat(node: ir.Node, arrays: Arrays) -> Any:
    return np.concatenate(arrays, node.attributes["axis"].as_int())


RULES: Mapping[str, Callable[[ir.Node, Arrays], Any]] = MappingProxyType(
    {"Cast": _cast, "Reshape": _reshape, "Unsqueeze": _unsqueeze, "Squeeze": _squeeze,
     "Concat": _concat}
)  # fmt: skip
