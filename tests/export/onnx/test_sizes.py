"""Sizes 0 and 1 in ONNX Runtime: torch's values and errors, or a note in the report."""

import sys
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F  # noqa: N812

import stator
from stator import InputSpec
from stator.api import onnx_inputs
from stator.export.onnx.session import OnnxSession, RunFailure

ROOT = Path(__file__).parents[3]
SHAPES = [(3, 4), (1, 1), (0, 4), (3, 0), (0, 0)]


def outcome(function, x):
    """What a call gives, or the class of its error."""
    try:
        return function(x)
    except (IndexError, RuntimeError) as error:
        return next(kind for kind in (IndexError, RuntimeError) if isinstance(error, kind))


def same_for_all_sizes(function, tmp_path, shapes=SHAPES, sizes=(None, None)):
    stator.save(function, tmp_path / "m", input_spec=[InputSpec(list(sizes))], onnx=True)
    loaded = stator.load(tmp_path / "m", backend="onnxruntime")
    for shape in shapes:
        x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        wanted, found = outcome(function, x), outcome(loaded, x)
        if isinstance(wanted, type):
            assert found is wanted, shape
        else:
            torch.testing.assert_close(tuple(found), tuple(wanted), equal_nan=True)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: [x.argmax(0), x.argmin(0, keepdim=True)],
        lambda x: [x.argmax(-1)],
        lambda x: [x.argmax()],
        lambda x: x.max(1),
        lambda x: x.min(0),
        lambda x: [x.max()],
        lambda x: [x.amax(1)],
        lambda x: [x.amin((0, 1))],
        lambda x: [(x > 0).max(1).values, (x * 9).long().argmin(1)],
        lambda x: [x.mean(), x.mean(0), x.mean(1, keepdim=True)],
        lambda x: [x.sum(), x.sum(0), x.prod(1), x.logsumexp(1), x.norm(dim=1)],
        lambda x: [(x > 0).any(), (x > 0).any(1), (x > 0).all(), (x > 0).all(0)],
        lambda x: [x.softmax(-1), x.log_softmax(0), x.cumsum(1)],
        lambda x: [*x.sort(-1), x.argsort(0)],
        lambda x: x.topk(1, -1),
        lambda x: [x @ x.T, x.T @ x, torch.einsum("ij,kj->ik", x, x)],
        lambda x: [torch.cat([x, x], 0), torch.cat([x, x], 1), torch.stack([x, x], 1)],
        lambda x: [x.roll(1, 0), x.roll((1, -2), (0, 1)), x.roll(3), x.flip(0)],
        lambda x: [x[x > 0], x.nonzero(), (x * 4).long() // 2],
    ],
)  # fmt: skip
def test_tensors_without_elements(function, tmp_path):
    same_for_all_sizes(function, tmp_path)


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
def test_a_variance_of_too_few_elements_is_nan(tmp_path):
    def spread(x):
        return [x.var(1), x.std(0), *torch.var_mean(x, 1), x.var(0, correction=0)]

    same_for_all_sizes(spread, tmp_path)


@pytest.mark.parametrize(
    "module",
    [
        torch.nn.Conv2d(4, 3, 3, padding=1),
        torch.nn.ConvTranspose2d(4, 3, 3),
        torch.nn.GroupNorm(2, 4),
        torch.nn.BatchNorm2d(4),
        torch.nn.MaxPool2d(2),
        torch.nn.Linear(6, 2),
    ],
    ids=lambda module: type(module).__name__,
)
def test_layers_of_an_empty_batch(module, tmp_path):
    module.eval()
    shapes = [(2, 4, 5, 6), (1, 4, 5, 6), (0, 4, 5, 6)]
    same_for_all_sizes(lambda x: [module(x)], tmp_path, shapes, (None, 4, 5, 6))


@pytest.mark.parametrize("is_causal", [True, False])
def test_attention_to_nothing(is_causal, tmp_path):
    def attend(x):
        return [F.scaled_dot_product_attention(x, x, x, is_causal=is_causal)]

    shapes = [(2, 2, 3, 4), (1, 2, 1, 4), (0, 2, 3, 4), (1, 2, 0, 4)]
    same_for_all_sizes(attend, tmp_path, shapes, (None, 2, None, 4))


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_interpolation_of_any_image_that_has_elements(mode, tmp_path):
    spec = [InputSpec([None, 2, None, 3], "float32", "x")]
    stator.save(
        lambda x: F.interpolate(x, scale_factor=2, mode=mode), tmp_path / "m", spec, onnx=True
    )
    loaded = stator.load(tmp_path / "m", backend="onnxruntime")
    for shape in ((2, 2, 5, 3), (1, 2, 1, 3)):
        x = torch.randn(shape)
        wanted = F.interpolate(x, scale_factor=2, mode=mode)
        torch.testing.assert_close(loaded(x), wanted, rtol=1e-4, atol=1e-5)
    with pytest.raises(RuntimeError, match="sizes should be greater than 0"):
        loaded(torch.randn(1, 2, 0, 3))


def test_a_row_that_may_look_at_nothing_is_zero(tmp_path):
    def attend(x):
        return [F.scaled_dot_product_attention(x, x, x, attn_mask=x[..., :1] > 0)]

    same_for_all_sizes(attend, tmp_path, [(2, 3, 4), (1, 1, 4)], (None, None, 4))


def test_heads_that_share_keys(tmp_path):
    def attend(x):
        return [F.scaled_dot_product_attention(x, x[:, :2], x[:, :2], enable_gqa=True)]

    same_for_all_sizes(attend, tmp_path, [(2, 4, 3, 4), (0, 4, 3, 4)], (None, 4, None, 4))


def test_the_decoder_of_the_readme_is_one_file(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "examples"))
    monkeypatch.delitem(sys.modules, "decoder", raising=False)
    torch.manual_seed(0)
    model = __import__("decoder").Decoder().eval()
    spec = [InputSpec([None, 32])]
    (report,) = stator.save(model, tmp_path / "m", input_spec=spec, onnx=True)
    assert report.runs == onnx_inputs.DRAWS + report.paths.searched
    assert report.gaps == ()
    loaded = stator.load(tmp_path / "m", backend="onnxruntime")
    for rows in (4, 1, 0):
        state = torch.randn(rows, 32)
        assert torch.equal(loaded(state), model(state))


def test_a_kernel_that_takes_no_empty_tensor_is_a_note(tmp_path, monkeypatch):
    right = OnnxSession.run
    failure = RunFailure("RuntimeError", "there is no such kernel", by_runtime=True)

    def run(self, feeds):
        return right(self, feeds) if feeds["x"].size else failure

    monkeypatch.setattr(OnnxSession, "run", run)
    (report,) = stator.save(
        lambda x: x * 2, tmp_path / "m", input_spec=[InputSpec([None], name="x")], onnx=True
    )
    assert report.gaps == ("ONNX Runtime reports there is no such kernel",)
    line = "  - a tensor without elements: ONNX Runtime reports there is no such kernel"
    assert line in str(report).splitlines()
    assert report.runs
