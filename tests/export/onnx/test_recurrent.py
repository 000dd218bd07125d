"""`nn.LSTM`, `nn.GRU`, `nn.RNN` and `nn.EmbeddingBag` in ONNX Runtime."""

import pytest
import torch
from torch import nn

import stator
from stator import InputSpec
from stator.errors import ExportError

STEPS = [InputSpec([None, None, 3])]
WORDS = [InputSpec([None, None], "int64")]


def same(module, tmp_path, spec, *calls):
    module.eval()
    stator.save(module, tmp_path / "m", input_spec=spec, onnx=True)
    loaded = stator.load(tmp_path / "m", backend="onnxruntime")
    for call in calls:
        torch.testing.assert_close(loaded(call), module(call), rtol=1e-4, atol=1e-5)
    return loaded


@pytest.mark.parametrize(
    "module",
    [
        nn.LSTM(3, 4),
        nn.LSTM(3, 4, 2, bidirectional=True, batch_first=True),
        nn.LSTM(3, 4, bias=False),
        nn.GRU(3, 4, 2, batch_first=True),
        nn.GRU(3, 4, bidirectional=True),
        nn.RNN(3, 4, 2),
        nn.RNN(3, 4, nonlinearity="relu"),
    ],
    ids=str,
)
def test_networks_of_every_size(module, tmp_path):
    calls = [torch.randn(5, 2, 3), torch.randn(1, 1, 3), torch.randn(2, 4, 3)]
    if not module.batch_first:
        calls.append(torch.randn(2, 0, 3))
    loaded = same(module, tmp_path, STEPS, *calls)
    with pytest.raises(RuntimeError, match="sequence length to be larger than 0"):
        loaded(torch.randn(2, 0, 3) if module.batch_first else torch.randn(0, 2, 3))


def test_a_projection_is_refused(tmp_path):
    with pytest.raises(ExportError) as caught:
        same(nn.LSTM(3, 4, proj_size=2), tmp_path, STEPS)
    assert caught.value.problem == "aten::lstm.input with projections has no counterpart in ONNX"


def test_a_network_of_doubles_is_refused(tmp_path):
    with pytest.raises(ExportError) as caught:
        same(nn.GRU(3, 4).double(), tmp_path, [InputSpec([None, None, 3], "float64")])
    assert caught.value.problem == "aten::gru.input: ONNX Runtime computes it for float32 only"


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 2])
def test_bags_of_embeddings(mode, padding, tmp_path):
    module = nn.EmbeddingBag(9, 3, mode=mode, padding_idx=padding)
    same(module, tmp_path, WORDS, torch.randint(0, 9, (4, 5)), torch.full((2, 3), 2))
