"""Products of transposed tensors that are empty: a kernel of ONNX Runtime would end the process."""

import onnx
import pytest
import torch
from torch import nn

import stator
from stator import InputSpec


class Weighted(nn.Module):
    """Attention that gives its weights: the sequence becomes the first dimension and moves back."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x)


def moved(x, y):
    return (x.permute(1, 0, 2) * 0.5) @ y.permute(1, 2, 0)


@pytest.mark.parametrize("length", [0, 1, 3])
def test_attention_over_a_sequence_of_any_length(tmp_path, length):
    torch.manual_seed(0)
    model = Weighted().eval()
    stator.save(model, tmp_path / "f", input_spec=[InputSpec([None, None, 8])], onnx=True)
    run = stator.load(tmp_path / "f", backend="onnxruntime")
    x = torch.randn(2, length, 8)
    torch.testing.assert_close(run(x), model(x))


@pytest.mark.parametrize("sizes", [(0, 4, 3), (2, 0, 3), (2, 4, 0), (2, 4, 3)])
def test_a_product_of_moved_dimensions(tmp_path, sizes):
    stator.save(moved, tmp_path / "f", input_spec=[InputSpec([None, None, None])] * 2, onnx=True)
    run = stator.load(tmp_path / "f", backend="onnxruntime")
    x = torch.randn(*sizes)
    torch.testing.assert_close(run(x, x), moved(x, x))


def test_known_sizes_stay_as_they_are(tmp_path):
    stator.save(moved, tmp_path / "f", input_spec=[InputSpec([2, 3, 4])] * 2, onnx=True)
    assert "Reshape" not in {node.op_type for node in onnx.load(tmp_path / "f.onnx").graph.node}
