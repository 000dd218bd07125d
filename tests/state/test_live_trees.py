"""Containers that a function creates again at every call and keeps: eager's state, few captures."""

import collections
import dataclasses

import pytest
import torch
from torch import nn

import stator

Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass
class State:
    hidden: torch.Tensor
    steps: int
    name: str = "state"


class Plain:
    def __init__(self, hidden, steps):
        self.hidden, self.steps = hidden, steps


def plain(tree):
    """What can be compared with ==, types included."""
    if isinstance(tree, torch.Tensor):
        return tree.tolist(), tree.dtype
    if isinstance(tree, tuple | list):
        return type(tree), [plain(item) for item in tree]
    if isinstance(tree, dict):
        return type(tree), [(key, plain(item)) for key, item in tree.items()]
    if isinstance(tree, State | Plain):
        return type(tree), plain(vars(tree))
    return repr(tree)


def model(update, start):
    """A module whose call is `update(self, x)`, and whose `cache` is made by `start()`."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.cache = start()

        def forward(self, x):
            return update(self, x)

    return Model()


INPUTS = [torch.full((2,), float(k)) for k in range(7)]


def follows(update, start, captures, inputs=INPUTS):
    eager, static = model(update, start), stator.to_static(model(update, start))
    for x in inputs:
        assert plain(static(x)) == plain(update(eager, x))
        assert plain(static.cache) == plain(eager.cache)
    assert len(static.forward.concrete_programs) == captures
    return static


def pair(self, x):
    first, second = self.cache
    self.cache = type(self.cache)([first + x, second * 0.5 - x])
    return self.cache[0] * self.cache[1]


@pytest.mark.parametrize("kind", [tuple, list])
def test_a_pair_that_is_created_at_each_call(kind):
    follows(pair, lambda: kind([torch.zeros(2), torch.ones(2)]), captures=2)


def test_a_named_tuple():
    def update(self, x):
        self.cache = Pair(self.cache.right + x, self.cache.left + 1)
        return self.cache.left * self.cache.right

    follows(update, lambda: Pair(torch.zeros(2), 1.5), captures=2)


def test_a_dict_with_tuples():
    def update(self, x):
        self.cache = {name: (k + x, n + 1) for name, (k, n) in self.cache.items()}
        return self.cache["one"][0] * self.cache["two"][1]

    start = {"one": (torch.zeros(2), 0), "two": (torch.ones(2), 5)}
    follows(update, lambda: dict(start), captures=2)


def test_a_dict_with_lists_and_objects():
    def update(self, x):
        cache = self.cache
        self.cache = {"a": [cache["a"][0] + x], "b": Plain(cache["b"].hidden * 0.5, 1.5)}
        self.cache["a"][0] = self.cache["a"][0] + 1
        return self.cache["a"][0] * self.cache["b"].hidden

    follows(update, lambda: {"a": [torch.zeros(2)], "b": Plain(torch.ones(2), 1.5)}, captures=2)


def test_the_items_of_a_dict_that_stays():
    def update(self, x):
        for name, (k, n) in list(self.cache.items()):
            self.cache[name] = (k + x, n + 1)
        return self.cache["one"][0] * self.cache["one"][1]

    follows(update, lambda: {"one": (torch.zeros(2), 0), "two": (torch.ones(2), 5)}, captures=2)


@pytest.mark.parametrize("kind", [State, Plain])
def test_an_object(kind):
    def update(self, x):
        self.cache = kind(torch.tanh(self.cache.hidden + x), self.cache.steps + 1)
        return self.cache.hidden * self.cache.steps

    follows(update, lambda: kind(torch.zeros(2), 0), captures=2)


def test_none_at_first():
    def update(self, x):
        self.cache = (x, x) if self.cache is None else (self.cache[0] + x, self.cache[1])
        return self.cache[0]

    follows(update, lambda: None, captures=3)


def test_a_list_that_grows_and_is_cut():
    def update(self, x):
        self.cache.append(x)
        self.cache = self.cache[-3:]
        return torch.stack(self.cache).sum(0)

    follows(update, list, captures=3)


def test_a_list_of_pairs_that_grows():
    def update(self, x):
        self.cache = [*self.cache, (x, x * 2)]
        total = torch.zeros(2)
        for k, v in self.cache:
            total = total + k * v
        return total

    follows(update, list, captures=3)


def test_tensors_that_grow():
    def update(self, x):
        self.cache = tuple(torch.cat([one, x[None]]) for one in self.cache)
        return self.cache[0].sum(0) + self.cache[1].shape[0]

    follows(update, lambda: (torch.zeros(0, 2), torch.zeros(1, 2)), captures=3)


def test_what_is_changed_in_place_is_the_object_that_is_there():
    def update(self, x):
        old = self.cache
        old["sum"] = old["sum"] + x
        self.cache = {"sum": old["sum"] * 2}
        return old["sum"]

    static = follows(update, lambda: {"sum": torch.zeros(2)}, captures=2)
    kept = static.cache
    static(INPUTS[1])
    eager = model(update, lambda: {"sum": torch.zeros(2)})
    for x in (*INPUTS, INPUTS[1]):
        last = eager.cache
        eager(x)
    assert plain(kept) == plain(last)


def test_a_container_that_somebody_else_holds_is_no_input():
    def update(self, x):
        self.cache = [self.cache[0] + x]
        self.other.append(len(self.cache))
        return self.cache[0]

    eager, static = model(update, lambda: [torch.zeros(2)]), model(update, lambda: [torch.zeros(2)])
    eager.other, static.other = [], []
    stator.to_static(static)
    held = []
    for x in INPUTS[:4]:
        assert plain(static(x)) == plain(update(eager, x))
        held.append(static.cache)
        assert plain(static.cache) == plain(eager.cache)
    assert [plain(one) for one in held] == [
        (list, [(x.tolist(), x.dtype)])
        for x in (INPUTS[0], INPUTS[1], INPUTS[1] * 3, INPUTS[1] * 6)
    ]


def test_a_container_that_is_given_back_is_the_one_on_self():
    def update(self, x):
        if len(self.cache) > 1:
            self.cache = [self.cache[0] + x]
        return self.cache

    def grow(self, x):
        self.cache = [self.cache[0] + x]
        return self.cache

    for function in (update, grow):
        eager = model(function, lambda: [torch.zeros(2)])
        static = stator.to_static(model(function, lambda: [torch.zeros(2)]))
        for x in INPUTS[:4]:
            got = static(x)
            assert plain(got) == plain(function(eager, x))
            assert plain(static.cache) == plain(eager.cache)
            assert got is static.cache


def test_gradients_go_through():
    def update(self, x):
        self.cache = (torch.tanh(self.cache[0] + x), self.cache[1] + 1)
        return self.cache[0] * self.cache[1]

    grads = []
    for made in (
        model(update, lambda: (torch.zeros(2), 0)),
        stator.to_static(model(update, lambda: (torch.zeros(2), 0))),
    ):
        x = torch.ones(2, requires_grad=True)
        sum(made(x * k).sum() for k in range(5)).backward()
        grads.append(x.grad.tolist())
    assert grads[0] == grads[1]


def test_another_form_is_captured_again():
    eager = model(pair, lambda: (torch.zeros(2), torch.ones(2)))
    static = stator.to_static(model(pair, lambda: (torch.zeros(2), torch.ones(2))))
    for k, x in enumerate(INPUTS):
        if k == 4:
            eager.cache = [*eager.cache]
            static.cache = [*static.cache]
        if k == 6:
            eager.cache = [one.double() for one in eager.cache]
            static.cache = [one.double() for one in static.cache]
        assert plain(static(x)) == plain(eager(x))
        assert plain(static.cache) == plain(eager.cache)
    assert len(static.forward.concrete_programs) == 4
