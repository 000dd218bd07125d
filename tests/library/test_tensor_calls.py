"""Methods of tensors, and functions of torch and math, whose results Python reads."""

import math

import pytest
import torch

from stator import InputSpec
from tests.capture.oracle import check

X = torch.tensor([1.0, 4.0, 9.0])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.tolist(), lambda x: x[0].item(), lambda x: x.unbind(), lambda x: x.split(2),
        lambda x: x.chunk(2), lambda x: torch.tensor(x[0].item()),
        lambda x: torch.tensor([1, int(x[0])]),
        lambda x: torch.tensor([[x[0].item(), 2.0]], dtype=torch.float64),
        lambda x: torch.tensor(3),
        lambda x: torch.as_tensor(x), lambda x: torch.tensor([x[0] > 0, True]), lambda x: x.size(0),
        lambda x: torch.full((2,), x[1].item()), lambda x: torch.arange(int(x[1])),
    ],
)  # fmt: skip
def test_a_call_gives_what_torch_gives(function):
    check(function, (X,), (X + 1,))


@pytest.mark.parametrize("name", ["sqrt", "exp", "log", "sin", "tanh", "floor", "ceil", "isnan"])
def test_a_function_of_math_gives_what_math_gives(name):
    function = getattr(math, name)
    check(lambda x: function(x[1].item()), (X,), (X + 0.5,))


@pytest.mark.parametrize(
    ("name", "value"), [("sqrt", -1.0), ("log", 0.0), ("log", -1.0), ("exp", 1e4)]
)
def test_a_function_of_math_raises_where_math_does(name, value):
    function = getattr(math, name)
    check(lambda x: function(x.item()), (torch.tensor(value),))


@pytest.mark.parametrize(
    "function",
    [lambda x: x.unbind(), lambda x: x.split(2), lambda x: x.chunk(2), lambda x: x.tolist()],
)
def test_parts_of_an_unknown_number_are_a_list_of_the_run(function):
    calls = tuple((torch.arange(float(k)),) for k in (3, 1, 4))
    check(lambda x: [part for part in function(x)], *calls, spec=[InputSpec([None])])  # noqa: C416
