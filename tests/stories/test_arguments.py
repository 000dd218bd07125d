"""Stories about arguments of other classes, questions about ranges, and errors of ops on data."""

from __future__ import annotations

import collections
import dataclasses
import types

import pytest
import torch
from torch import tensor

import stator
from stator.errors import InputError, UnsupportedCall
from tests.stories.story import Story, check


class Rows(list):
    def first(self):
        return self[0]


class Table(dict):
    def first(self):
        return next(iter(self))


@dataclasses.dataclass
class Record:
    count: int = 0
    items: list = dataclasses.field(default_factory=list)


def count(given):
    given["q"] += 1
    return given["q"], given["none"], len(given)


def group(given):
    given["x"].append(1)
    return len(given)


def reorder(given):
    given.move_to_end("a")
    return list(given)


def push(given):
    given.append(5)
    return given[0], len(given)


def add(given):
    given.add(9)
    return len(given)


def first_row(given):
    given.append(4)
    return given.first(), len(given)


def first_key(given):
    given["z"] = 4
    return given.first(), len(given)


def advance(given):
    given.count += 1
    return given.count


GIVEN = {
    "Counter": (count, lambda: collections.Counter("aab")),
    "defaultdict": (group, lambda: collections.defaultdict(list, y=[1])),
    "OrderedDict": (reorder, lambda: collections.OrderedDict(a=1, b=2)),
    "deque": (push, lambda: collections.deque([1, 2], maxlen=2)),
    "set": (add, lambda: {1, 2}),
    "a list of a class": (first_row, lambda: Rows([1, 2])),
    "a dict of a class": (first_key, lambda: Table(a=1)),
    "a dataclass": (advance, Record),
    "a namespace": (advance, lambda: types.SimpleNamespace(count=3)),
}


@pytest.mark.parametrize("name", GIVEN)
def test_an_argument_keeps_its_class(name):
    function, make = GIVEN[name]

    def call(subject):
        given = make()
        return subject(given), type(given).__name__, repr(given)

    check(lambda: Story(function, (call, call, call)))


RANGES = {
    "in": lambda k: (4 in range(k), 1 in range(k), -1 in range(k)),
    "items": lambda k: (range(1, k + 3)[1], range(k + 1)[-1], len(range(k))),
    "equal": lambda k: (range(k) == range(2), range(k) != range(2), range(k) == [0, 1]),
    "truth": lambda k: (bool(range(k)), 1 if range(k) else 2),
    "given back": lambda k: range(k, 7),
    "class": lambda k: (k.__class__ is int, type(range(k)) is range),
}


@pytest.mark.parametrize("name", [name for name in RANGES if name != "class"])
def test_questions_about_a_range(name):
    check(lambda: Story(lambda t: RANGES[name](int(t)), (tensor(2), tensor(0), tensor(5))))


def test_the_class_of_a_captured_value_is_that_of_python():
    static = stator.to_static(lambda x: (x.__class__ is torch.Tensor, int(x).__class__ is int))
    assert static(tensor(2)) == (True, True)


REDUCED = {
    "max": lambda kept: kept.max(),
    "argmax": lambda kept: kept.argmax(),
    "amax": lambda kept: kept.amax(),
    "max of rows": lambda kept: kept.max(0).values,
    "topk": lambda kept: kept.topk(1).values,
    "mode": lambda kept: kept.mode().values,
    "view": lambda kept: kept.view(1),
}


@pytest.mark.parametrize("name", REDUCED)
def test_the_error_of_an_op_is_caught_wherever_its_tensor_was_made(name):
    def f(x):
        kept = x[x > 5]
        try:
            return REDUCED[name](kept)
        except (RuntimeError, IndexError):
            return tensor(-1.0)

    check(lambda: Story(f, (tensor([1.0, 9.0]), tensor([1.0, 2.0]))))


def test_the_best_of_tuples_that_hold_lists():
    def f(x):
        finished, tokens = [], [1]
        for k in range(2):
            if x[k] > 0:
                finished.append((x[k].item(), tokens))
            tokens = [*tokens, k]
        if not finished:
            finished = [(0.0, tokens)]
        return max(finished, key=lambda one: one[0])[1]

    calls = (tensor([1.0, -2.0]), tensor([-1.0, -2.0]), tensor([1.0, 2.0]))
    check(lambda: Story(f, calls))


def test_a_list_that_is_an_argument_and_a_global_is_refused_by_its_text():
    def f(x, items):
        items.append(1)
        return x * len(SHARED)

    with pytest.raises(UnsupportedCall) as caught:
        stator.to_static(f)(torch.ones(2), SHARED)
    assert caught.value.problem == (
        "an argument is a list or a dict that the function also reaches by another name"
    )


SHARED = [1, 2]


def test_an_argument_of_a_subclass_of_tensor_is_refused():
    class Tagged(torch.Tensor):
        pass

    class Weight(torch.nn.Parameter):
        pass

    static = stator.to_static(lambda x: x * 2)
    assert type(static(torch.ones(2))) is torch.Tensor
    assert type(static(Weight(torch.ones(2)))) is torch.Tensor
    with pytest.raises(InputError) as caught:
        static(torch.ones(2).as_subclass(Tagged))
    assert caught.value.problem == (
        "an argument is a Tagged, a subclass of torch.Tensor: the ops of a program give plain "
        "tensors"
    )
    assert caught.value.fix == "pass a plain tensor: `x.as_subclass(torch.Tensor)`"
