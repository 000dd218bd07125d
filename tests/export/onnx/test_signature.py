"""Models in ONNX Runtime are called as the original was."""

import inspect

import pytest
import torch

import stator
from stator import InputSpec


class Scores(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)

    def forward(self, feats, mask=None, *, scale=2.0):
        scores = self.layer(feats) * scale
        return {"scores": scores if mask is None else scores * mask}

    @stator.to_static(input_spec=[InputSpec([None, 3])])
    def doubled(self, x):
        return x * 2


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model"
    stator.save(Scores().eval(), path, input_spec=[InputSpec([None, 3], name="feats")], onnx=True)
    return stator.load(path, backend="onnxruntime")


def test_calls_by_position_by_name_and_with_defaults_are_the_same(loaded):
    x = torch.randn(4, 3)
    wanted = loaded(x)["scores"]
    for found in (loaded(feats=x), loaded(x, None), loaded(x, scale=2.0)):
        assert torch.equal(found["scores"], wanted)


def test_a_call_that_does_not_fit_is_refused_by_the_signature(loaded):
    assert str(inspect.signature(loaded)) == "(feats, mask=None, *, scale=2.0)"
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'feat'"):
        loaded(feat=torch.randn(4, 3))
    with pytest.raises(TypeError, match="missing a required argument: 'feats'"):
        loaded()
    with pytest.raises(stator.StatorError, match="`scale` is not an input of the saved program"):
        loaded(torch.randn(4, 3), scale=3.0)


def test_its_repr_shows_methods_with_inputs_and_outputs(loaded):
    assert repr(loaded) == (
        "OnnxLayer(\n"
        "  doubled(x: f32[s0, 3]) -> f32[s0, 3]\n"
        "  forward(feats: f32[s0, 3]) -> {'scores': f32[s0, 2]}\n"
        ")"
    )
    assert str(inspect.signature(loaded.doubled)) == "(x)"
