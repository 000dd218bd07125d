"""A loaded model is called as the model that was saved: by position, by keyword, with defaults."""

import functools
import inspect
import pydoc

import pytest
import torch
from torch import nn

import stator
from stator import InputSpec
from stator.errors import SizeCheckFailed, SpecMismatch
from stator.execute.backend import RaisedError, RunOptions
from stator.execute.interpreter import INTERPRETER


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
         "`mask` is not an input of the saved program, which has `mask=None`; the call passes "
         "f32[2, 2]"),
        ((X,), {"scale": 3.0}, SpecMismatch,
         "`scale` is not an input of the saved program, which has `scale=2.0`; "
         "the call passes 3.0"),
        ((X,), {"scale": 2}, SpecMismatch,
         "`scale` is not an input of the saved program, which has `scale=2.0`; the call passes 2"),
        ((X,), {"other": 1}, SpecMismatch,
         "`extra['other']` is not an input of the saved program; the call passes 1"),
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


def weighted(x, y, n=2, flag=False, mode="plain", eps=0.5):
    result = x * n + y.sum(1, keepdim=True)
    if flag:
        result = result + eps
    return (-result if mode == "minus" else result), x.shape[0] * n


NAMED = {"x": InputSpec(["batch", "s0"]), "y": InputSpec(["batch", None])}
VALUES = {
    "n": InputSpec.int(), "flag": InputSpec.bool(), "mode": InputSpec.str(),
    "eps": InputSpec.float("epsilon"),
}  # fmt: skip


def test_sizes_keep_the_names_of_the_spec(path):
    model = loaded(path, NAMED, weighted)
    signature = "forward(x: f32[batch, s0], y: f32[batch, s1]) -> (f32[batch, s0], int)"
    assert signature in repr(model)
    assert "%x: f32[batch, s0], %y: f32[batch, s1]" in str(model.program())
    for rows in (0, 1, 3):
        x, y = torch.randn(rows, 2), torch.randn(rows, 4)
        result, expected = model(x, y), weighted(x, y)
        assert torch.equal(result[0], expected[0])
        assert result[1] == expected[1]


def test_two_sizes_for_one_name_are_refused_by_the_name(path):
    model = loaded(path, NAMED, weighted)
    with pytest.raises(SpecMismatch) as caught:
        model(torch.ones(3, 2), torch.ones(1, 4))
    assert caught.value.problem == (
        "y must be a tensor f32[batch, s1], not f32[1, 4]: "
        "its size 0 is 1, and batch is 3 elsewhere"
    )


def test_the_program_itself_checks_sizes_of_one_name(path):
    """A runtime without the loaded model's own checks relies on this."""
    program = loaded(path, NAMED, weighted).program()
    run = INTERPRETER.prepare(program, RunOptions()).bind({})
    outcome = run((torch.ones(3, 2), torch.ones(1, 4)))
    assert isinstance(outcome, RaisedError)
    assert outcome.exception().problem == "this needs x.shape[0] == y.shape[0]: both are `batch`"


def test_one_spec_may_use_a_name_twice(path):
    model = loaded(path, [InputSpec(["n", "n"])], torch.trace)
    assert model(torch.ones(3, 3)) == 3
    with pytest.raises(SpecMismatch, match="its size 1 is 4, and n is 3 elsewhere"):
        model(torch.ones(3, 4))


def test_a_check_of_a_named_size_uses_its_name(path):
    def rows(x):
        return x.view(-1, 4)

    model = loaded(path, [InputSpec(["batch"])], rows)
    with pytest.raises(SizeCheckFailed, match="batch"):
        model(torch.ones(6))


def test_python_values_are_inputs_of_a_saved_program(path):
    model = loaded(path, NAMED | VALUES, weighted)
    assert "n: int, flag: bool, mode: str, eps: float) -> " in repr(model)
    x, y = torch.randn(3, 2), torch.randn(3, 4)
    for values in ({}, {"n": -7}, {"flag": True, "eps": -0.0}, {"mode": "minus", "n": 0}):
        result, expected = model(x, y, **values), weighted(x, y, **values)
        assert torch.equal(result[0], expected[0])
        assert result[1] == expected[1]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"n": 2.0}, "must be an int, not 2.0"),
        ({"n": True}, "must be an int, not True"),
        ({"n": 2**63}, "must be an int of 64 bits, not 9223372036854775808"),
        ({"flag": 1}, "must be a bool, not 1"),
        ({"mode": None}, "must be a str, not None"),
        ({"eps": 1}, "(`epsilon` in its spec) must be a float, not 1"),
    ],
)
def test_a_value_of_another_type_is_refused(path, value, problem):
    model = loaded(path, NAMED | VALUES, weighted)
    with pytest.raises(SpecMismatch) as caught:
        model(X, X, **value)
    assert caught.value.problem == f"{next(iter(value))} {problem}"


def test_an_error_names_the_parameter_and_the_name_in_its_spec(tmp_path):
    spec = [InputSpec([None, 2], "float32", "features")]
    stator.save(lambda feats: feats * 2, tmp_path / "m", spec)
    with pytest.raises(stator.errors.SpecMismatch) as caught:
        stator.load(tmp_path / "m")(3)
    assert caught.value.problem == (
        "feats (`features` in its spec) must be a tensor f32[s0, 2], not 3"
    )


def test_help_shows_the_model_and_the_signatures_of_its_methods(path):
    model = loaded(path, [InputSpec([None, 2])])
    assert repr(model) in pydoc.plain(pydoc.render_doc(model))
    shown = pydoc.plain(pydoc.render_doc(model.forward))
    assert f"forward{inspect.signature(model.forward)}" in shown
    assert "The saved program: forward(feats: f32[s0, 2])" in shown


def test_the_repr_has_the_names_of_the_parameters(tmp_path):
    def forward(feats, pair, times, mode, *rest, scale):
        return (feats + pair[0]) * pair[1] * times * rest[0] * scale if mode is None else feats

    spec = InputSpec([None, 2], "float32", "features")
    call = [spec, (spec, InputSpec([])), 3, InputSpec.str(optional=True), InputSpec([])]
    stator.save(functools.partial(forward, scale=2.0), tmp_path / "m", call)
    assert repr(stator.load(tmp_path / "m")) == (
        "TranslatedLayer(forward(feats: f32[s0, 2], pair: (f32[s1, 2], f32[]), times=3, "
        "mode: str | None, rest[0]: f32[]) -> f32[s3, 2])"
    )


def test_an_error_about_an_item_of_args_names_the_item(tmp_path):
    stator.save(lambda *rows: rows[0] + rows[1], tmp_path / "m", [InputSpec([3])] * 2)
    with pytest.raises(SpecMismatch) as caught:
        stator.load(tmp_path / "m")(torch.ones(3), torch.ones(4))
    assert caught.value.problem.startswith("rows[1] must be a tensor f32[3], not f32[4]")


def test_a_size_check_names_the_parameters_and_their_specs(path):
    def rows(feats, mode: str | None):
        return feats.view(-1, 3) if mode is None else feats

    model = loaded(path, [InputSpec([None], name="f"), InputSpec.str(optional=True)], rows)
    with pytest.raises(SizeCheckFailed) as caught:
        model(torch.ones(4), None)
    assert caught.value.involved == {"feats (`f` in its spec)": "f32[4]"}
    with pytest.raises(SizeCheckFailed) as caught:
        loaded(path, [InputSpec([None])], lambda feats: feats.view(-1, 3))(torch.ones(4))
    assert caught.value.involved == {"feats": "f32[4]"}


def test_a_keyword_that_is_no_parameter_is_named(tmp_path):
    stator.save(torch.nn.Linear(2, 2), tmp_path / "model", [InputSpec([None, 2], "float32", "row")])
    model = stator.load(tmp_path / "model")
    with pytest.raises(TypeError) as caught:
        model(row=X)
    assert str(caught.value) == "forward(input): got an unexpected keyword argument 'row'"


@pytest.mark.parametrize(
    ("value", "fix"),
    [
        (X.numpy(), "pass a tensor: `torch.from_numpy(...)`"),
        (X.tolist(), "pass a tensor: `torch.tensor(...)`"),
        (X.double(), "convert it, `.to(torch.float32)`, or capture a program for this dtype"),
    ],
)
def test_the_fix_fits_what_was_passed(path, value, fix):
    with pytest.raises(SpecMismatch) as caught:
        loaded(path, [InputSpec([None, 2])])(value)
    assert caught.value.fix == fix
