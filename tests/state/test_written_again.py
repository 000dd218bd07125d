"""What a call sets to what it already was is set again by each call that finds something else."""

import types

import pytest
import torch

import stator

KEPT = types.SimpleNamespace(count=2)
TABLE = {"count": 2}
TOTAL = 2


def by_attribute(x):
    KEPT.count = 2
    return x


def twice(x):
    KEPT.count = -1
    KEPT.count = 2
    return x


def by_vars(x):
    vars(KEPT)["count"] = 2
    return x


def by_key(x):
    TABLE["count"] = 2
    return x


def by_global(x):
    global TOTAL
    TOTAL = 2
    return x


def found():
    return KEPT.count, TABLE["count"], TOTAL


def put(value):
    global TOTAL
    KEPT.count = TABLE["count"] = TOTAL = value


@pytest.mark.parametrize("function", [by_attribute, twice, by_vars, by_key, by_global])
def test_each_call_sets_it(function):
    static = stator.to_static(function)
    for value in (2, 5, 7, 2, 9):
        put(value)
        function(torch.ones(1))
        expected = found()
        put(value)
        static(torch.ones(1))
        assert found() == expected


def raises_in_between(y):
    vars(KEPT)["count"] = -1
    if y > 1:
        bound = 3
    vars(KEPT)["count"] = bound - 1


def test_so_does_the_call_after_one_that_raised():
    static = stator.to_static(raises_in_between)
    put(0)
    for y in (2, 0, 2, 5):
        try:
            static(torch.tensor(y))
        except UnboundLocalError:
            assert y == 0
            assert KEPT.count == -1
        else:
            assert KEPT.count == 2


class Remembers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, x):
        self.last = x.sum()
        return x


def test_an_attribute_that_has_become_a_buffer_is_set_where_modules_keep_buffers():
    eager, static = Remembers(), stator.to_static(Remembers())
    for number in range(4):
        for model in (eager, static):
            if number == 2:
                del model.last
                model.register_buffer("last", torch.zeros(()))
            model(torch.full((2,), float(number)))
    assert static.state_dict() == eager.state_dict() == {"last": torch.tensor(6.0)}
    assert static.forward._captures == 2
