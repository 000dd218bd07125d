"""Why a function is captured again: the exact words."""

import types
import warnings

import pytest
import torch
from torch import nn

import stator
from stator.api import static_function
from stator.errors import SizeCheckFailed

ONES = torch.ones(2, 3)


def second_reason(function, first, second, **keywords):
    static = stator.to_static(function)
    static(*first)
    static(*second, **keywords)
    assert len(static.concrete_programs) == 2
    return static.concrete_programs[1].reason


def pair(x, k=None):
    return x[0] if isinstance(x, tuple | list) else x["a"] if isinstance(x, dict) else x + 1


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ((ONES,), (ONES.double(),), "the dtype of x is float64, not float32"),
        ((ONES,), (ONES[0],), "the rank of x is 1, not 2"),
        ((ONES,), (ONES.to("meta"),), "the device of x is meta, not cpu"),
        ((ONES,), (ONES.clone().requires_grad_(),), "the requires_grad of x is True, not False"),
        ((ONES,), (nn.Parameter(ONES),), "the requires_grad of x is True, not False"),
        ((ONES,), (torch.ones(3, 2).t(),), "the layout of x is (1, 2), not 'contiguous'"),
        ((ONES, 1), (ONES, 2), "k is 2, not 1"),
        ((ONES, 1), (ONES, True), "k is a bool, not an int"),
        ((ONES, "a"), (ONES, "b"), "k is 'b', not 'a'"),
        ((ONES, 0.0), (ONES, -0.0), "k is -0.0, not 0.0"),
        ((ONES, None), (ONES, 1), "k is an int, not None"),
        ((ONES,), (ONES, 1), "it was called with 2 positional arguments, not 1"),
        (((ONES,),), ([ONES],), "x is a list, not a tuple"),
        (((ONES, 1),), ((ONES, 2),), "x[1] is 2, not 1"),
        (((ONES,),), ((ONES, 2),), "x is another tuple"),
        (({"a": ONES, "b": 1},), ({"a": ONES, "b": 2},), "x['b'] is 2, not 1"),
        ((ONES, {1}), (ONES, {2}), "k is another set"),
    ],
)
def test_an_argument_that_differs_is_named(first, second, words):
    assert second_reason(pair, first, second) == words


def test_a_keyword_that_differs_is_named():
    static = stator.to_static(pair)
    static(ONES, k=1)
    static(ONES, k=2)
    static(x=ONES, k=2)
    static(ONES)
    assert [concrete.reason for concrete in static.concrete_programs[1:]] == [
        "k is 2, not 1",
        "it was called with 0 positional arguments, not 1",
        "it was called with 1 positional argument, not 0",
    ]


def test_keywords_that_are_new_are_named():
    static = stator.to_static(lambda x, *, k=1, j=2: x * k + j)
    static(ONES)
    static(ONES, k=1)
    static(ONES, j=1, k=1)
    assert [concrete.reason for concrete in static.concrete_programs[1:]] == [
        "it was called with the keywords k, not no keywords",
        "it was called with the keywords j, k, not the keywords k",
    ]


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        (torch.no_grad, "grad mode is False, not True"),
        (torch.inference_mode, "grad mode is False, not True"),
        (lambda: torch.autocast("cpu"), "autocast on cpu is bfloat16, not False"),
        (lambda: torch.device("meta"), "the default device is meta, not None"),
    ],
)
def test_a_mode_that_differs_is_named(mode, words):
    static = stator.to_static(lambda x: x + 1)
    static(ONES)
    with mode():
        static(ONES)
    assert static.concrete_programs[1].reason == words


def test_a_size_that_differs_is_named():
    assert second_reason(pair, (ONES,), (torch.ones(2, 4),)) == "x.shape[1] is 4, not 3"


def test_the_attribute_of_a_library_module_is_named():
    model = stator.to_static(nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)))
    model(ONES)
    model.eval()
    model(ONES)
    assert model.forward.concrete_programs[1].reason == "Sequential.training has changed"


def test_a_stored_tensor_that_changes_in_place_is_named():
    model = stator.to_static(nn.Linear(3, 3))
    model(ONES)
    model.weight.requires_grad_(False)
    model(ONES)
    assert model.forward.concrete_programs[1].reason == (
        "dtype, device, sizes or requires_grad of weight has changed"
    )


def test_the_limit_warns_with_the_attribute_that_changes():
    class Holder:
        name = 0

    holder = Holder()
    table = types.SimpleNamespace(**{f"n{k}": k for k in range(40)})

    def read(x):
        return x + getattr(table, f"n{holder.name}")  # the name must be known

    static = stator.to_static(read)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(static_function.CAPTURE_LIMIT + 2):
            holder.name = k
            static(ONES)
    assert [str(one.message) for one in caught] == [
        "read has been captured 32 times; the last time because Holder.name is 31, not 30. "
        "Pass what changes as a tensor, or give an input_spec. At most 64 programs are kept."
    ]


def test_a_concrete_program_says_what_it_is_for():
    static = stator.to_static(pair)
    static(ONES)
    static(torch.ones(4, 3))
    assert list(map(repr, static.concrete_programs)) == [
        "<ConcreteProgram pair(x: f32[2, 3]), captured because it was called for the first time>",
        "<ConcreteProgram pair(x: f32[s0, 3]), captured because x.shape[0] is 4, not 2>",
    ]


# ---- demands


def add(x, y):
    total = x * 1
    return total + y


def test_a_demand_that_a_spec_makes_is_checked_before_anything_runs(capsys):
    def noisy(x, y):
        print("running")
        return x + y

    spec = [stator.InputSpec([None]), stator.InputSpec([None])]
    static = stator.to_static(noisy, input_spec=spec)
    static(torch.ones(3), torch.ones(3))
    capsys.readouterr()
    with pytest.raises(SizeCheckFailed) as caught:
        static(torch.ones(3), torch.ones(4))
    lines = str(caught.value).splitlines()
    assert lines[0] == (
        "[ST302] this needs x.shape[0] == y.shape[0] or x.shape[0] == 1 or y.shape[0] == 1"
    )
    assert lines[2].strip() == "return x + y"
    assert capsys.readouterr().out == ""
    assert caught.value.before_running


def test_an_error_of_the_users_comes_before_a_demand():
    def checked(x, y):
        if x.shape[0] != y.shape[0]:
            raise KeyError("lengths")
        return x + y

    spec = [stator.InputSpec([None]), stator.InputSpec([None])]
    static = stator.to_static(checked, input_spec=spec)
    static(torch.ones(3), torch.ones(3))
    with pytest.raises(KeyError):
        static(torch.ones(3), torch.ones(4))


def test_sizes_that_nobody_called_open_are_captured_again_where_a_demand_breaks():
    static = stator.to_static(add)
    for n in (2, 3, 4):
        assert static(torch.ones(n), torch.ones(n)).tolist() == [2.0] * n
    for n in (3, 5, 6, 7, 2):  # broadcasts
        assert static(torch.ones(n), torch.ones(1)).tolist() == [2.0] * n
    assert len(static.concrete_programs) == 2
    viewed = stator.to_static(lambda x, y: (x + y).view(x.shape[0], -1).sum(0))
    for n in (3, 5, 6, 7, 2):
        assert viewed(torch.ones(n), torch.ones(n)).tolist() == [2.0 * n]
        assert viewed(torch.ones(1), torch.ones(n)).tolist() == [2.0] * n
    assert len(viewed.concrete_programs) == 5
    assert viewed.concrete_programs[-1].reason == (
        "sizes differ: this needs y.shape[0] == x.shape[0] or y.shape[0] == 1"
    )


def test_sizes_that_do_not_go_together_raise_what_eager_raises():
    static = stator.to_static(add)
    for n in (2, 3, 4):
        static(torch.ones(n), torch.ones(n))
    for _ in range(2):
        with pytest.raises(RuntimeError):
            static(torch.ones(3), torch.ones(4))
    assert static(torch.ones(5), torch.ones(5)).tolist() == [2.0] * 5
