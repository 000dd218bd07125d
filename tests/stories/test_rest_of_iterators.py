"""What an iterator has left after a loop, a search or a branch that took some of its items."""

from __future__ import annotations

import itertools

import pytest
from torch import tensor

from tests.stories.story import Story, check

MAKERS = {
    "iter": lambda: iter([1, 2, 3, 4]),
    "tuple": lambda: iter((1, 2, 3, 4)),
    "map": lambda: map(lambda v: v * 2, [1, 2, 3, 4]),  # noqa: C417
    "generator": lambda: (v for v in [1, 2, 3, 4]),
    "reversed": lambda: reversed([4, 3, 2, 1]),
    "range": lambda: iter(range(1, 5)),
    "filter": lambda: filter(lambda v: v > 1, [1, 2, 3, 4, 5]),
    "chain": lambda: itertools.chain([1, 2], [3, 4]),
    "islice": lambda: itertools.islice([1, 2, 3, 4, 5], 4),
    "dict": lambda: iter({1: "a", 2: "b", 3: "c"}),
    "accumulate": lambda: itertools.accumulate([1, 1, 1, 1]),
}


def left_by_a_break(mk):
    def f(t):
        it = mk()
        for v in it:
            if v > t:
                break
        return list(it)

    return f


def searched_by_any(mk):
    def f(t):
        it = mk()
        return any(v > t for v in it), list(it)

    return f


def searched_by_in(mk):
    def f(t):
        it = mk()
        return int(t) in it, list(it)

    return f


def taken_in_a_branch(mk):
    def f(t):
        it = mk()
        a = next(it)
        if t > 1:
            b = next(it)
        else:
            b = -1
        return a, b, list(it), next(it, "end")

    return f


def taken_in_pairs(mk):
    def f(t):
        it = mk()
        s = 0
        for v in it:
            w = next(it, 0)
            s += v * w
            if s > t:
                break
        return s, list(it)

    return f


def taken_by_two_loops(mk):
    def f(t):
        it = mk()
        out = []
        for v in it:
            for w in it:
                out.append(v + w)
                if w > t:
                    break
        return out

    return f


def listed_in_a_branch(mk):
    def f(t):
        it = mk()
        if t > 1:
            a = list(it)
        else:
            a = []
        return a, list(it)

    return f


def taken_in_a_loop(mk):
    def f(t):
        it = mk()
        n = 0
        while n < t:
            n += 1
            for v in it:
                n += v
                break
        return n, list(it)

    return f


TAKERS = (
    left_by_a_break,
    searched_by_any,
    searched_by_in,
    taken_in_a_branch,
    taken_in_pairs,
    taken_by_two_loops,
    listed_in_a_branch,
    taken_in_a_loop,
)


# a generator that only a run knows the state of takes a second to capture, ten times what others do
CASES = [
    pytest.param(maker, marks=(pytest.mark.slow,) if maker == "generator" else ())
    for maker in MAKERS
]


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("maker", CASES)
def test_the_rest_of_an_iterator(maker, taker):
    calls = (tensor(2), tensor(0), tensor(5), tensor(1))
    check(lambda: Story(taker(MAKERS[maker]), calls))
