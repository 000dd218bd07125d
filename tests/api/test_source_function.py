"""SourceFunction: the user's callable, as it is now."""

import functools

import pytest
import torch

import stator
from stator import InputSpec, to_static
from stator.api.source_function import SourceFunction, parameter_names
from stator.errors import SourceUnavailable, SpecMismatch


class Model(torch.nn.Module):
    def forward(self, x):
        return x


def test_a_method_follows_the_class_of_its_object():
    class Other(Model):
        def forward(self, x):
            return x + 1

    model = Model()
    source = SourceFunction(lambda: model.forward, "forward")
    assert source.current()(1) == 1
    model.__class__ = Other
    assert source.current()(1) == 2


def test_the_owner_of_a_method_is_its_module():
    model = Model()
    assert SourceFunction(lambda: model.forward, "forward").owner is model
    assert SourceFunction(lambda: model, "Model").owner is model
    assert SourceFunction(lambda: len, "len").owner is None


def test_positional_parameters_have_names():
    assert parameter_names(lambda a, /, b, *c, d, **e: a) == ["a", "b"]
    assert SourceFunction(lambda: Model(), "Model").parameter_names() == ["x"]


def test_a_callable_without_python_source_says_so():
    with pytest.raises(SourceUnavailable) as caught:
        SourceFunction(lambda: functools.partial(len), "partial").python()
    assert caught.value.problem == "partial is a partial, which has no Python source"


def scaled(x, y, n, flag):
    return (x * n + y) if flag else x


SPEC = [InputSpec(["batch"]), InputSpec(["batch"]), InputSpec.int(), InputSpec.bool()]


def test_one_program_takes_every_number_and_every_named_size():
    static = to_static(scaled, input_spec=SPEC)
    for rows in (1, 2, 5):
        x, y = torch.randn(rows), torch.randn(rows)
        assert torch.equal(static(x, y, rows, True), scaled(x, y, rows, True))
    assert [str(value.type) for value in static.program.inputs] == [
        "f32[batch]", "f32[batch]", "int",
    ]  # fmt: skip
    assert len(static.concrete_programs) == 1
    assert torch.equal(static(x, y, 2, False), x)
    assert len(static.concrete_programs) == 2  # one for each truth value


@pytest.mark.parametrize("is_captured", [False, True])
def test_a_call_with_two_sizes_for_one_name_is_refused_by_the_name(is_captured):
    static = to_static(scaled, input_spec=SPEC)
    if is_captured:
        static(torch.ones(3), torch.ones(3), 2, True)
    with pytest.raises(SpecMismatch) as caught:
        static(torch.ones(3), torch.ones(1), 2, True)
    assert caught.value.problem == (
        "y.shape[0] is 1, and x.shape[0] is 3: the spec calls both `batch`"
    )


@pytest.mark.parametrize("is_captured", [False, True])
@pytest.mark.parametrize(
    ("n", "flag", "problem"),
    [
        (2.0, True, "n is 2.0, its spec says int"),
        (True, True, "n is True, its spec says int"),
        (2**63, True, "n is 9223372036854775808, which is no int of 64 bits"),
        (2, 1, "flag is 1, its spec says bool"),
    ],
)
def test_a_call_with_a_value_of_another_type_is_refused(is_captured, n, flag, problem):
    static = to_static(scaled, input_spec=SPEC)
    if is_captured:
        static(torch.ones(3), torch.ones(3), 2, True)
    with pytest.raises(SpecMismatch) as caught:
        static(torch.ones(3), torch.ones(3), n, flag)
    assert caught.value.problem == problem


X = torch.tensor([1.0, 2.0])


def repeated(x, times: int, *, scale: float, name: str = "a", flag: bool = False):
    for _ in range(times):
        x = x * scale
    return x if flag is False and name == "a" else -x


@pytest.mark.parametrize(
    "spec",
    [[InputSpec([None])], [InputSpec([None]), int], {"x": InputSpec([None]), "scale": float}],
)
def test_an_annotated_parameter_that_has_no_default_is_an_input(spec, tmp_path):
    stator.save(repeated, tmp_path / "model", spec)
    loaded = stator.load(tmp_path / "model")
    for times, scale in ((0, 2.0), (3, 0.5)):
        given, want = loaded(X, times, scale=scale), repeated(X, times, scale=scale)
        assert torch.equal(given, want)


class Annotated(torch.nn.Module):
    def forward(self, x, times: "int"):
        return x * times


def test_so_is_one_of_a_module(tmp_path):
    stator.save(Annotated(), tmp_path / "model", [InputSpec([None])])
    assert torch.equal(stator.load(tmp_path / "model")(X, 4), X * 4)
