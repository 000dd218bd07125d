"""Keys of user classes: their `__hash__` and `__eq__` are called as often as Python likes."""

import pytest
import torch

import stator
from stator import to_static
from stator.errors import UnsupportedCall

ASKED = []


class Key:
    def __init__(self, value):
        self.value = value

    def __hash__(self):
        return hash(self.value)

    def __eq__(self, other):
        return self.value == other.value


class Noting(Key):
    def __hash__(self):
        ASKED.append(self.value)
        return hash(self.value)


class Counting(Key):
    compared = 0

    def __hash__(self):
        return 1

    def __eq__(self, other):
        type(self).compared += 1
        return self.value == other.value


def display(x, cls):
    return x * {cls(1): 2}[cls(1)]


def assigned(x, cls):
    table = {}
    if x.sum() > 0:
        table[cls(1)] = 3
    return x * len(table)


def members(x, cls):
    return x * len({cls(1), cls(1)})


def in_a_list(x, cls):
    return x * (cls(2) in [cls(1), cls(2)])


def position(x, cls):
    return x * [cls(1), cls(2)].index(cls(2))


USES = [display, assigned, members, in_a_list, position]


@pytest.mark.parametrize("use", USES)
def test_keys_that_change_nothing_are_taken(use):
    assert to_static(use)(torch.ones(2), Key).equal(use(torch.ones(2), Key))


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("cls", [Noting, Counting])
def test_keys_that_change_something_are_refused_and_nothing_is_left_changed(use, cls):
    with pytest.raises(UnsupportedCall, match="without conversion, which changes"):
        to_static(use)(torch.ones(2), cls)
    assert (ASKED, Counting.compared) == ([], 0)


def test_a_list_may_hold_what_is_no_good_key():
    def kept(x):
        found = []
        found.append(Noting(1))
        return x * found[0].value

    assert to_static(kept)(torch.ones(2)).tolist() == [1, 1]


class Pair(tuple):
    def __len__(self):
        raise NotImplementedError


def test_a_tuple_is_compared_without_its_own_methods():
    def used(x):
        return x * 2 if Pair((1, 2)) in (Pair((1, 2)), 3) else x

    assert torch.equal(stator.to_static(used)(torch.ones(2)), used(torch.ones(2)))
