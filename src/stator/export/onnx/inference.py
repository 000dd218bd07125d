"""fill_in(): types and shapes of values between those of the program, by ONNX's own inference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import onnx
import onnx_ir as ir

REPEATED = "__repeated"  # in names of constants, in the copy that inference is given


def fill_in(model: ir.Model) -> None:
    """Give each value of `model` the type and the shape that it was not given when it was made."""
    missing = {value.name: value for value in _values(model.graph) if _is_incomplete(value)}
    if not missing:
        return
    for value in missing.values():
        _from_constant(value)
    proto = ir.to_proto(model)
    _repeat_constants(proto.graph, {})
    proto = onnx.shape_inference.infer_shapes(proto, data_prop=True)
    for info in _described(proto.graph):
        found = missing.get(info.name)
        if found is None:
            continue
        found.type = found.type or ir.serde.deserialize_type_proto_for_type(info.type)
        if found.shape is None:
            found.shape = ir.serde.deserialize_type_proto_for_shape(info.type)


def _repeat_constants(graph: onnx.GraphProto, around: Mapping[str, onnx.NodeProto]) -> None:
    """Constants of the graphs around `graph` in it as well: inference does not look there."""
    own = {node.output[0]: node for node in graph.node if node.op_type == "Constant"}
    used: dict[str, onnx.NodeProto] = {}
    for node in graph.node:
        for index, name in enumerate(node.input):
            if name in around and name not in own:
                node.input[index] = name + REPEATED
                used[name + REPEATED] = around[name]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _repeat_constants(attribute.g, {**around, **own})
    nodes = [onnx.NodeProto(op_type="Constant", output=[name], attribute=maker.attribute)
             for name, maker in used.items()] + list(graph.node)  # fmt: skip
    del graph.node[:]
    graph.node.extend(nodes)


def _is_incomplete(value: ir.Value) -> bool:
    has_shape = value.shape is not None or isinstance(value.type, ir.SequenceType)
    return value.type is None or not has_shape


def _from_constant(value: ir.Value) -> None:
    """What a constant says of itself."""
    maker = value.producer()
    if maker is None or maker.op_type != "Constant" or "value" not in maker.attributes:
        return
    tensor = maker.attributes["value"].as_tensor()
    sizes = tensor.numpy().shape
    value.type, value.shape = ir.TensorType(tensor.dtype), ir.Shape(sizes)


def _values(graph: ir.Graph) -> Iterator[ir.Value]:
    for inner in (graph, *graph.subgraphs()):
        yield from (value for node in inner for value in node.outputs)


def _described(graph: onnx.GraphProto) -> Iterator[onnx.ValueInfoProto]:
    """What inference has found, in `graph` and in those inside it."""
    yield from graph.value_info
    yield from graph.output
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _described(attribute.g)
