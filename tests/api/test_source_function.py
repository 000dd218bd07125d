"""SourceFunction: the user's callable, as it is now."""

import functools
import itertools

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
        (2**63, True, "n is 9223372036854775808, which does not fit in 64 bits"),
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


def chosen(x, mode: str | None, times: int | None, *, scale: float | None, flag=None):
    if mode is None:
        y = x
    else:
        y = -x if mode == "negated" else x * len(mode)
    for _ in range(1 if times is None else times):
        y = y if scale is None else y * scale
    return y + 1 if flag else y, mode, times


OPTIONAL = {"x": InputSpec([None]), "flag": InputSpec.bool(optional=True)}
CHOICES = tuple(itertools.product((None, "negated", ""), (None, 2), (None, 0.5), (None, True)))


@pytest.mark.parametrize("backend", ["interpreter", None])  # None: the default
def test_a_saved_program_takes_none_or_a_value(backend, tmp_path):
    stator.save(chosen, tmp_path / "model", OPTIONAL)
    loaded = stator.load(tmp_path / "model", backend=backend)
    assert repr(loaded) == (
        "TranslatedLayer(forward(x: f32[s0], mode: str | None, times: int | None, "
        "flag: bool | None, scale: float | None) -> (f32[s0], str | None, int | None))"
    )
    for mode, times, scale, flag in CHOICES:
        given = loaded(X, mode, times, scale=scale, flag=flag)
        wanted = chosen(X, mode, times, scale=scale, flag=flag)
        assert torch.equal(given[0], wanted[0])
        assert given[1:] == wanted[1:]


@pytest.mark.parametrize(
    ("mode", "times", "problem"),
    [
        (3, None, "mode must be a str or None, not 3"),
        (None, 1.0, "times must be an int or None, not 1.0"),
        (None, True, "times must be an int or None, not True"),
        (None, 2**63, "times must be an int of 64 bits or None, not 9223372036854775808"),
        ([], None, "mode must be a str or None, not []"),
    ],
)
def test_what_is_neither_none_nor_of_the_type_is_refused(mode, times, problem, tmp_path):
    stator.save(chosen, tmp_path / "model", OPTIONAL)
    with pytest.raises(SpecMismatch) as caught:
        stator.load(tmp_path / "model")(X, mode, times, scale=None)
    assert caught.value.problem == problem


def test_a_live_function_has_a_program_for_none_and_one_for_all_values():
    static = stator.to_static(chosen, input_spec={"mode": str | None, "times": int | None})
    for mode, times, *_ in CHOICES:
        given, wanted = (one(X, mode, times, scale=0.5) for one in (static, chosen))
        assert torch.equal(given[0], wanted[0])
        assert given[1:] == wanted[1:]
    assert len(static.concrete_programs) == 4
    with pytest.raises(SpecMismatch) as caught:
        static(X, 3, None, scale=0.5)
    assert caught.value.problem == "mode is 3, its spec says str or None"


def test_a_union_of_other_types_is_no_input_by_annotation(tmp_path):
    def either(x, n: int | str):
        return x * n

    with pytest.raises(SpecMismatch, match="missing a required argument: 'n'"):
        stator.save(either, tmp_path / "model", [InputSpec([None])])
