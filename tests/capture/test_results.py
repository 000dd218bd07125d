"""Results: what can leave a program, and in which structure."""

import collections
import dataclasses
import enum
import math

import pytest
import torch

import stator
from stator.errors import CaptureError
from tests.capture.oracle import check, refusal

ONE = torch.ones(2)
Pair = collections.namedtuple("Pair", "a b")


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Point:
    x: object
    y: object = 2


@pytest.mark.parametrize(
    "make",
    [
        lambda x: None, lambda x: 3, lambda x: "a", lambda x: x.dtype, lambda x: Color.RED,
        lambda x: (x, [x, {"k": x}]), lambda x: Pair(x, Pair(1, x)), lambda x: Point(x),
        lambda x: [Point(x, x), None], lambda x: (x, x), lambda x: (), lambda x: {},
        lambda x: {1: x, (2, 3): 4}, lambda x: torch.Tensor, lambda x: 1.5 + 2j,
    ],
)  # fmt: skip
def test_a_result_comes_out_as_it_is(make):
    check(make, (ONE,), (ONE * 2,))


def test_an_object_of_the_callers_comes_out_as_itself():
    own = object()
    assert stator.to_static(lambda x: own)(ONE) is own


def test_one_tensor_twice_is_one_tensor():
    first, second = stator.to_static(lambda x: (lambda y: (y, y))(x + 1))(ONE)
    assert first is second


def test_each_call_gives_a_list_of_its_own():
    static = stator.to_static(lambda x: [x])
    assert static(ONE) is not static(ONE)


def test_what_a_program_cannot_give_is_refused_by_its_text():
    error = refusal(CaptureError, lambda x: {"a": 1}.items(), ONE)
    assert error.problem == (
        "a dict_items is returned or kept outside: a program can return tensors, numbers, strings, "
        "None, and containers of these"
    )
    assert error.fix == "return the tensors and numbers in it"


def test_the_refusal_points_into_the_function():
    def f(x):
        return {"a": 1}.items()

    error = refusal(CaptureError, f, ONE)
    assert error.at is not None
    assert (error.at.function, error.at.line) == ("f", f.__code__.co_firstlineno + 1)


def test_the_refusal_of_one_of_several_results_points_at_the_function():
    def f(x, n):
        if n > 1:
            return x
        return {"a": 1}.items()

    error = refusal(CaptureError, f, ONE, 1)
    assert error.at is not None
    assert (error.at.function, error.at.line) == ("f", f.__code__.co_firstlineno)


def test_a_decorator_of_a_library_does_not_hide_the_place_of_a_refusal():
    @torch.no_grad()
    def f(x):
        return {"a": 1}.items()

    error = refusal(CaptureError, f, ONE)
    assert error.at is not None
    assert error.at.function == "f"


def test_one_list_twice_is_one_list():
    def f(x):
        items = [x]
        return items, items

    first, second = stator.to_static(f)(ONE)
    assert first is second


def test_a_method_of_a_tensor_that_leaves_is_one_of_the_runs_tensor():
    kept = []

    def f(x):
        kept.append(x.size)
        return (x * 2).sum

    static = stator.to_static(f)
    assert float(static(torch.ones(3))()) == 6.0
    assert float(static(torch.ones(3) * 2)()) == 12.0
    assert [size() for size in kept] == [(3,), (3,)]


KEPT: dict = {}


@pytest.mark.parametrize("method", [lambda x: [x].append, lambda x: {1: x}.get])
def test_builtin_methods_of_containers_of_the_call_are_refused(method):
    @stator.to_static
    def given_back(x):
        return method(x)

    @stator.to_static
    def kept(x):
        KEPT["method"] = method(x)
        return x

    for function in (given_back, kept):
        with pytest.raises(CaptureError, match="a method is returned or kept outside"):
            function(torch.ones(2))
    assert not KEPT


def test_builtin_functions_and_methods_of_classes_are_returned():
    functions = (torch.add, len, math.sqrt, dict.fromkeys, "a-b".split)
    assert stator.to_static(lambda x: (x, functions))(torch.ones(2))[1] == functions
