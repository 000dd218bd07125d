"""What the user calls a value, a number or an object, as messages have it."""

import pytest
import torch

import stator
from stator.capture.errors.variable_names import name_of_object
from stator.errors import LoopStateChanged
from tests.capture.oracle import refusal


def test_an_object_that_no_variable_holds_is_called_what_it_is():
    assert name_of_object([1]) == "a list"
    assert name_of_object(torch.nn.Linear(1, 1)) == "a linear"


def deepening_list(x, n):
    held = [x]
    while n > 0:
        held[0] = held[0][None]
        n = n - 1
    return held[0]


def deepening_attribute_of_a_variable(x, n):
    box = Box(x)
    while n > 0:
        box.held = box.held[None]
        n = n - 1
    return box.held


class Box:
    def __init__(self, held):
        self.held = held


@pytest.mark.parametrize(
    ("function", "name"),
    [(deepening_list, "`held`"), (deepening_attribute_of_a_variable, "`box.held`")],
)
def test_an_object_goes_by_the_variable_that_holds_it(function, name):
    error = refusal(LoopStateChanged, function, torch.ones(2), torch.tensor(2))
    assert error.problem.startswith(f"the type of {name} changes")
    assert error.fix.startswith(f"give {name} one dtype")


def test_the_size_of_an_attribute_goes_by_the_attribute():
    def f(x):
        box = Box(x[x > 0])
        return box.held + x

    static = stator.to_static(f)
    with pytest.raises(stator.StatorError) as caught:
        static(torch.tensor([1.0, -1.0, 1.0]))
    assert caught.value.problem == "this needs box.held.shape[0] == 1 or box.held.shape[0] == 3"
