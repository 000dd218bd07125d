"""A loaded model is called as the model that was saved: by position, by keyword, with defaults."""

import inspect

import pytest
import torch
from torch import nn

import stator
from stator import InputSpec
from stator.errors import SpecMismatch


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([1.0, 2.0]))

    def forward(self, feats, mask=None, *, scale=2.0, **extra):
        result = feats * self.weight * scale
        if mask is not None:
            result = result * mask
        return {"out": result, "rows": feats.shape[0]}

    def times(self, feats, factor=2):
        return feats * factor


@pytest.fixture
def path(tmp_path):
    return tmp_path / "scaled"


def loaded(path, spec, model=None, **options):
    stator.save(model or Scaled().eval(), path, spec, **options)
    return stator.load(path)


X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((X,), {}),
        ((), {"feats": X}),
        ((X, None), {}),
        ((X,), {"scale": 2.0}),
        ((), {"scale": 2.0, "mask": None, "feats": X}),
    ],
)
def test_calls_that_are_the_same_in_python_are_the_same_here(path, args, kwargs):
    model = loaded(path, [InputSpec([None, 2])])
    result, expected = model(*args, **kwargs), Scaled()(*args, **kwargs)
    assert torch.equal(result["out"], expected["out"])
    assert result["rows"] == 2


def test_keyword_only_and_skipped_parameters_have_specs(path):
    spec = {"feats": InputSpec([None, 2]), "scale": InputSpec([])}
    model = loaded(path, spec)
    scale = torch.tensor(3.0)
    expected = Scaled()(X, scale=scale)["out"]
    assert torch.equal(model(X, scale=scale)["out"], expected)
    assert torch.equal(model(scale=scale, feats=X)["out"], expected)


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "problem"),
    [
        ((), {}, TypeError,
         "forward(feats, mask=None, *, scale=2.0, **extra): missing a required argument: 'feats'"),
        ((X, None, 1), {}, TypeError,
         "forward(feats, mask=None, *, scale=2.0, **extra): too many positional arguments"),
        ((X, X), {}, SpecMismatch,
         "`mask` is no input of the saved program, which has `mask=None`; the call gives "
         "f32[2, 2]"),
        ((X,), {"scale": 3.0}, SpecMismatch,
         "`scale` is no input of the saved program, which has `scale=2.0`; the call gives 3.0"),
        ((X,), {"scale": 2}, SpecMismatch,
         "`scale` is no input of the saved program, which has `scale=2.0`; the call gives 2"),
        ((X,), {"other": 1}, SpecMismatch,
         "`extra['other']` is no input of the saved program; the call gives 1"),
        ((X.double(),), {}, SpecMismatch,
         "feats must be a tensor f32[s0, 2], not f64[2, 2]: its dtype is float64, not float32"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_by_the_name_of_the_parameter(
    path, args, kwargs, error, problem
):
    model = loaded(path, [InputSpec([None, 2])])
    with pytest.raises(error) as caught:
        model(*args, **kwargs)
    assert getattr(caught.value, "problem", str(caught.value)) == problem


def test_a_parameter_that_the_program_takes_and_the_call_leaves_out_has_its_default(path):
    model = loaded(path, [InputSpec([None, 2]), InputSpec([2])])
    assert torch.equal(model(X, X[0])["out"], Scaled()(X, X[0])["out"])
    with pytest.raises(SpecMismatch) as caught:
        model(X)
    assert caught.value.problem == "mask must be a tensor f32[2], not None"


def test_the_signature_is_that_of_the_model_that_was_saved(path):
    methods = {"forward": [InputSpec([None, 2])], "times": [InputSpec([2])]}
    model = loaded(path, None, methods=methods)
    assert str(inspect.signature(model)) == "(feats, mask=None, *, scale=2.0, **extra)"
    assert str(inspect.signature(model.forward)) == "(feats, mask=None, *, scale=2.0, **extra)"
    assert str(inspect.signature(model.times)) == "(feats, factor=2)"
    assert torch.equal(model.times(feats=X[0], factor=2), X[0] * 2)


def test_a_loaded_model_prints_its_methods(path):
    model = loaded(path, [InputSpec([None, 2])])
    method = "forward(feats: f32[s0, 2]) -> {'out': f32[s0, 2], 'rows': int}"
    assert repr(model) == f"TranslatedLayer({method})"
    assert repr(model.forward) == f"<saved method {method}>"


def test_a_function_with_starred_parameters_is_called_as_it_was_saved(path):
    def total(first, *rest):
        for one in rest:
            first = first + one
        return first

    model = loaded(path, [InputSpec([2])] * 3, total)
    assert torch.equal(model(*X, X[0]), X[0] + X[1] + X[0])
    with pytest.raises(SpecMismatch) as caught:
        model(*X)
    assert caught.value.problem == "`rest[1]` is missing, and the model was saved with it"


def test_a_model_that_is_saved_again_keeps_its_signature(path, tmp_path):
    model = loaded(path, [InputSpec([None, 2])])
    stator.save(model, tmp_path / "again")
    again = stator.load(tmp_path / "again")
    assert inspect.signature(again) == inspect.signature(model)


def test_a_method_that_every_module_has_is_refused_by_its_text(path):
    with pytest.raises(SpecMismatch) as caught:
        stator.save(Scaled(), path, methods={"double": [InputSpec([2])]})
    assert caught.value.problem == (
        "every module has a method 'double', which the loaded model could not tell from a saved one"
    )
