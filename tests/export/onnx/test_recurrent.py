"""`nn.LSTM`, `nn.GRU`, `nn.RNN`, `nn.EmbeddingBag` and batch norm in ONNX Runtime."""

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


BAGS = [InputSpec([None], "int64"), InputSpec([None], "int64")]
INDICES = torch.tensor([3, 1, 4, 1, 5, 2, 6])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("last", [False, True], ids=["", "with_the_last_offset"])
def test_bags_of_embeddings_by_offsets(mode, last, tmp_path):
    module = nn.EmbeddingBag(9, 3, mode=mode, include_last_offset=last)
    loaded = same(module, tmp_path, BAGS)
    for starts in ([0, 2, 2, 5], [0], [0, 0, 1]):
        offsets = torch.tensor([*starts, len(INDICES)] if last else starts)
        torch.testing.assert_close(loaded(INDICES, offsets), module(INDICES, offsets))
    with pytest.raises(ValueError, match="is smaller than the one before"):
        loaded(INDICES, torch.tensor([0, 4, 2, len(INDICES)]))


@pytest.mark.parametrize(
    ("layer", "spec"),
    [
        (nn.BatchNorm1d(3), InputSpec([None, 3])),
        (nn.BatchNorm1d(3, momentum=None), InputSpec([None, 3])),
        (nn.BatchNorm2d(3, affine=False), InputSpec([None, 3, None, 2])),
        (nn.BatchNorm1d(3, track_running_stats=False), InputSpec([None, 3, None])),
        (nn.BatchNorm1d(3).double(), InputSpec([None, 3], "float64")),
        (nn.InstanceNorm1d(3, track_running_stats=True), InputSpec([None, 3, 4])),
        (
            nn.InstanceNorm2d(3, momentum=0.3, affine=True, track_running_stats=True),
            InputSpec([None, 3, None, 2]),
        ),
    ],
    ids=str,
)
def test_norms_in_training_mode_keep_their_statistics(layer, spec, tmp_path, caplog):
    with torch.no_grad():
        stator.save(layer.train(), tmp_path / "m", input_spec=[spec], onnx=True)
        loaded = stator.load(tmp_path / "m", backend="onnxruntime")
        for number in (5, 2, 4):
            x = torch.randn([size or number for size in spec.shape], dtype=spec.dtype)
            torch.testing.assert_close(loaded(x), layer(x), rtol=1e-4, atol=1e-5)
        for name in loaded.state:
            torch.testing.assert_close(loaded.state[name], layer.state_dict()[name])
