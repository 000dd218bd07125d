"""Activations by ONNX Runtime's kernels where only weighted sums read them."""

from collections import Counter

import onnx
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

import stator
from stator import InputSpec


class Gated(nn.Module):
    """Both activations go into a matrix product; `shows` gives one of them away as well."""

    def __init__(self, *, shows=False):
        super().__init__()
        torch.manual_seed(0)
        self.down, self.shows = nn.Linear(8, 4), shows

    def forward(self, x):
        gate = F.silu(x)
        found = self.down(gate * torch.tanh(x * 2))
        return (found, gate) if self.shows else found


def nodes(model, tmp_path):
    """How many nodes there are of each kind; the model computes what it should."""
    stator.save(model, tmp_path / "f", input_spec=[InputSpec([None, 8])], onnx=True)
    x = torch.randn(5, 8, generator=torch.Generator().manual_seed(1)) * 9
    found = stator.load(tmp_path / "f", backend="onnxruntime")(x)
    torch.testing.assert_close(found, model(x), rtol=1e-5, atol=1e-5)
    return Counter(node.op_type for node in onnx.load(tmp_path / "f.onnx").graph.node)


def test_what_only_a_sum_reads_is_a_kernel(tmp_path):
    found = nodes(Gated(), tmp_path)
    assert (found["Sigmoid"], found["Tanh"], found["Clip"], found["Exp"]) == (1, 1, 0, 0)


def test_what_is_a_result_is_exact(tmp_path):
    found = nodes(Gated(shows=True), tmp_path)
    assert (found["Sigmoid"], found["Exp"]) == (0, 1)


def test_what_is_compared_is_exact(tmp_path):
    class Compared(Gated):
        def forward(self, x):
            level = torch.tanh(x)
            return self.down(level) + (level > 0.3).sum()

    assert nodes(Compared(), tmp_path)["Clip"] == 1


def test_a_product_of_two_activations_is_no_sum_with_weights(tmp_path):
    assert nodes(torch.nn.Sequential(Squared()), tmp_path)["Clip"] == 1


class Squared(nn.Module):
    """A matrix of activations times itself."""

    def forward(self, x):
        level = torch.tanh(x)
        return level @ level.t()
