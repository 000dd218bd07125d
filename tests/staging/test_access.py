"""Attributes and items of captured and Python objects."""

import collections
import types

import pytest
import torch

import stator
from stator.errors import UnsupportedCall
from tests.capture.oracle import check, refusal

X = torch.arange(6.0).reshape(2, 3)
INDEX = tuple((X, torch.tensor(k)) for k in (0, 1, -1))


@pytest.mark.parametrize(
    "read",
    [
        lambda x, i: x[i], lambda x, i: x[:, i], lambda x, i: x[i, 1:], lambda x, i: x[..., i],
        lambda x, i: x[None, i], lambda x, i: x[i][i], lambda x, i: x[:i], lambda x, i: x[int(i)],
        lambda x, i: x[[0, 1], [1, 2]], lambda x, i: x[x > 2], lambda x, i: x[i, None, i],
        lambda x, i: (x, x + 1)[i], lambda x, i: {0: x, 1: x + 1, -1: x - 1}[int(i)],
    ],
)  # fmt: skip
def test_a_tensor_or_container_is_read_by_a_captured_index(read):
    check(read, *INDEX)


@pytest.mark.parametrize("key", [lambda i: (slice(None), i), lambda i: (int(i), 0)])
def test_a_tensor_is_written_by_a_captured_index_among_others(key):
    def f(x, i):
        x = x.clone()
        x[key(i)] = 5.0
        return x

    check(f, *INDEX)


@pytest.mark.parametrize("value", [5.0, torch.zeros(3)])
def test_a_tensor_is_written_by_a_captured_index(value):
    def f(x, i):
        x = x.clone()
        x[i] = value
        return x

    check(f, *INDEX)


def test_attributes_of_a_choice_are_those_of_the_one_that_holds():
    def f(x):
        one, two = types.SimpleNamespace(k=1), types.SimpleNamespace(k=x)
        chosen = one if x.sum() > 0 else two
        return chosen.k

    check(f, (X,), (-X,))


def test_an_attribute_set_in_a_branch_only_raises_where_it_is_read():
    def f(x):
        box = types.SimpleNamespace()
        if x.sum() > 0:
            box.k = x
        return box.k

    check(f, (X,))


def test_a_key_that_may_be_absent_is_asked_for_by_the_run():
    def f(x):
        table = {}
        if x.sum() > 0:
            table["a"] = x
        return "a" in table, table.get("a", 0)

    check(f, (X,), (-X,))


def test_a_key_read_but_absent_raises_key_error():
    def f(x):
        table = {}
        if x.sum() > 0:
            table["a"] = x
        return table["a"]

    check(f, (X,), (-X,))


def test_setting_an_attribute_of_a_tensor_is_refused():
    def f(x):
        x.note = 1
        return x

    assert refusal(UnsupportedCall, f, X).problem == "an attribute of a tensor is set"


def test_setting_an_attribute_of_a_class_is_an_effect():
    class Box:
        k = 1

    def f(x):
        Box.k = 2
        return x

    stator.to_static(f)(X)
    assert Box.k == 2


def test_setting_an_attribute_of_a_builtin_class_is_refused():
    def f(x):
        int.k = 2
        return x

    error = refusal(UnsupportedCall, f, X)
    assert error.problem == "an attribute of the class int is set, which Stator cannot track"


class Table(dict):
    """A class of dicts."""


def test_a_dict_of_another_class_written_by_a_captured_key_is_refused():
    def f(x):
        table = Table([(0, 1)])
        table[int(x.sum())] = 2
        return table

    error = refusal(UnsupportedCall, f, X)
    assert error.problem == "an item is set by a captured key of a dict"


def test_deque_and_default_dict_are_followed():
    def f(x):
        queue, table = collections.deque([x]), collections.defaultdict(list)
        if x.sum() > 0:
            queue[0] = x + 1
        table["a"].append(x)
        return queue[0], table["a"]

    check(f, (X,), (-X,))
