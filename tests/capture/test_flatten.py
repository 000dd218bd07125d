"""Carry: values of every kind go through a block and come out as they were."""

import collections
import dataclasses

import pytest
import torch

from tests.capture.oracle import check

Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Point:
    x: object
    y: object


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x, lambda x: x.sum().item(), lambda x: int(x.sum()), lambda x: bool(x.sum() > 3),
        lambda x: (x, 1), lambda x: [x, [x + 1]], lambda x: {"a": x, "b": (1, x)},
        lambda x: Pair(x, 2), lambda x: Point(x, x.sum().item()), lambda x: None, lambda x: "text",
        lambda x: x.dtype, lambda x: x[:1], lambda x: x.shape[0], lambda x: [], lambda x: ((), {}),
    ],
)  # fmt: skip
def test_a_value_made_in_a_branch_or_a_loop_comes_out(make):
    def branch(x):
        return make(x) if x.sum() > 0 else make(x - 1)

    def loop(x):
        value = make(x)
        while x.sum() < 10:
            x = x * 2
            value = make(x)
        return value

    check(branch, (torch.ones(2),), (-torch.ones(2),))
    check(loop, (torch.ones(2),), (torch.ones(2) * 9,))


def test_the_alternative_that_holds_is_the_one_of_the_run():
    def f(x):
        if x.sum() > 3:
            y = None
        elif x.sum() > 0:
            y = (x, 1)
        else:
            y = "negative"
        return y

    check(f, (torch.ones(2) * 5,), (torch.ones(2),), (-torch.ones(2),))


def test_a_choice_goes_through_another_block():
    def f(x):
        y = None
        if x.sum() > 0:
            y = x
        if x.sum() > 3:
            y = 5
        return y

    check(f, (torch.ones(2) * 5,), (torch.ones(2),), (-torch.ones(2),))
