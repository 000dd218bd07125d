"""Each value of an ONNX model has a type, and a shape where there is one to know."""

import onnx
import torch
from torch import nn

import stator
from stator import InputSpec


class Layers(nn.Module):
    """Products, reshapes and comparisons, in a loop as well."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 6), nn.Linear(6, 4)

    def forward(self, x):
        for _ in range(3):
            if x.abs().max() > 1:
                x = x / 2
            x = self.second(self.first(x).relu().view(-1, 6))
        return x.softmax(-1).t()


def values(graph):
    """The name of each value that a node makes, and its description or None."""
    known = {info.name: info for info in (*graph.value_info, *graph.output)}
    for node in graph.node:
        yield from ((name, known.get(name)) for name in node.output if name)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from values(attribute.g)


def test_every_value_has_a_type_and_a_shape(tmp_path):
    torch.manual_seed(0)
    stator.save(Layers(), tmp_path / "f", input_spec=[InputSpec([None, 4])], onnx=True)
    for name, info in values(onnx.load(tmp_path / "f.onnx").graph):
        assert info is not None, name
        assert info.type.tensor_type.elem_type, name
        assert info.type.tensor_type.HasField("shape"), name


def warped(a, b):
    """Ops inside loops whose dimensions are constants of the graph around."""
    costs = torch.full((a.shape[0] + 1, b.shape[0] + 1), float("inf"))
    costs[0, 0] = 0
    for i in range(1, a.shape[0] + 1):
        for j in range(1, b.shape[0] + 1):
            before = torch.stack([costs[i - 1, j], costs[i, j - 1], costs[i - 1, j - 1]])
            costs[i, j] = (a[i - 1] - b[j - 1]).abs() + before.min()
    return costs


def test_a_value_in_a_loop_has_a_shape_too(tmp_path):
    stator.save(warped, tmp_path / "f", input_spec=[InputSpec([None])] * 2, onnx=True)
    for name, info in values(onnx.load(tmp_path / "f.onnx").graph):
        assert info is not None, name
        kind = info.type.WhichOneof("value")
        assert kind == "sequence_type" or info.type.tensor_type.HasField("shape"), name
