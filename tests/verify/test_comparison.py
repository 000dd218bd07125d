"""Differences: to the bit, or within limits; values, kinds, errors; each in words."""

import numpy
import pytest
import torch

from stator.api.example import Example
from stator_verify.comparison import Tolerance, difference
from stator_verify.outcome import Runnable, Setting, run
from stator_verify.state import ObjectStates


class Record:
    def __init__(self, value):
        self.value = value


def found(eager, other, *args, rtol=None, live=True, learns=False):
    """What two functions do differently."""
    setting = Setting(ObjectStates({}), 0, ["x"])
    outcomes = [
        run(Runnable("", one), Example(*args), setting, learns=learns) for one in (eager, other)
    ]
    one = difference(*outcomes, Tolerance(rtol, rtol), live=live)
    return None if one is None else (one.kind, one.text)


NAN, ZERO = float("nan"), 0.0
RESULTS = [
    (1, 2, "the result is 2 (an int), eager has 1 (an int)"),
    (1, True, "the result is True (a bool), eager has 1 (an int)"),
    ([1], (1,), "the result is a tuple of [0], eager has a list of [0]"),
    ({"a": 1}, {"b": 1}, "the result is a dict of ['b'], eager has a dict of ['a']"),
    (Record(1), Record(2), "the result['value'] is 2 (an int), eager has 1 (an int)"),
    (torch.ones(2), torch.zeros(2), "the result is [0.0, 0.0], eager has [1.0, 1.0]"),
    (torch.zeros(1), -torch.zeros(1), "the result is [-0.0], eager has [0.0]"),
    (
        torch.ones(1), torch.ones(1).double(),
        "the result has dtype torch.float64, eager has torch.float32",
    ),
    (torch.ones(1), torch.ones(1, 1), "the result has shape (1, 1), eager has (1,)"),
    (torch.ones(1), 1.0, "the result is 1.0 (a float), eager has a tensor"),
    (
        torch.ones(9), torch.ones(9).scatter(0, torch.tensor([4]), 5.0),
        "the result is 5.0 at [4], eager has 1.0; 1 of 9 elements differ",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("want", "got", "text"), RESULTS)
def test_a_result_that_differs(want, got, text):
    assert found(lambda: want, lambda: got) == ("result", text)
    assert found(lambda: want, lambda: want) is None


def test_nan_is_nan():
    assert found(lambda: (NAN, torch.tensor(NAN)), lambda: (NAN, torch.tensor(NAN))) is None


def test_arrays_are_compared_by_their_elements():
    array = numpy.array([1.0, NAN, 3.0])
    assert found(lambda: array, lambda: array * (1 + 1e-7)) is None  # numpy rounds otherwise
    for other in (array + 1e-5, array[:2], array.astype("float32"), numpy.array([1, 2, 3])):
        kind, text = found(lambda: array, lambda other=other: other)
        assert (kind, text.split(" is ")[0]) == ("result", "the result")
    assert found(lambda: numpy.arange(3), lambda: numpy.array([0, 1, 3])) is not None


def test_numbers_may_be_apart_as_far_as_is_allowed():
    assert found(lambda: torch.ones(1), lambda: torch.ones(1) + 1e-4, rtol=1e-3) is None
    assert found(lambda: 1.0, lambda: 1.0001, rtol=1e-3) is None
    assert found(lambda: 1.0, lambda: 1.1, rtol=1e-3) is not None


class Own(ValueError):
    pass


def raising(error):
    def function():
        raise error

    return function


def test_errors_have_one_class_and_one_text():
    assert found(raising(ValueError("a")), raising(ValueError("a"))) is None
    kind, text = found(raising(ValueError("a")), raising(ValueError("b")))
    assert (kind, text) == ("error", "raises ValueError('b'), eager ValueError('a')")
    assert found(raising(Own("a")), raising(ValueError("a")))[0] == "error"
    assert found(raising(Own("a")), raising(ValueError("a")), live=False) is None
    assert found(lambda: 1, raising(KeyError(1)))[1] == "raises KeyError(1), eager nothing"
    assert found(raising(KeyError(1)), lambda: 1)[1] == "raises nothing, eager KeyError(1)"


def test_texts_of_torch_may_differ():
    def one(x):
        return x @ torch.ones(9)

    def other(x):
        raise RuntimeError("sizes")

    assert found(one, other, torch.ones(2)) is None


def test_printed_text_memory_and_arguments_are_compared():
    def given(x):
        return x

    def copied(x):
        return x.clone()

    def written(x):
        x.add_(1)
        return x - 1

    def plain(x):
        return x * 1

    x = torch.zeros(1)
    assert found(lambda x: print("a"), lambda x: None, x) == ("printed", "prints '', eager 'a\\n'")
    assert found(given, copied, x)[0] == "memory"
    assert found(plain, written, x) == ("argument", "the argument x is [1.0], eager has [0.0]")


def test_gradients_are_compared_and_none_is_zero():
    def detached(x):
        return x.detach() * x

    assert found(lambda x: x * x, detached, torch.ones(1), learns=True)[0] == "gradient"
    assert found(lambda x: x * 0 + 1.0, lambda x: x * 0 + 1, torch.ones(1), learns=True) is None
