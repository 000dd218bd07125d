"""Stories about iterators that the call makes: their position is state."""

from __future__ import annotations

import collections
import functools
import itertools

import pytest
import torch

from tests.stories.book import Book, K, X

story = Book(
    iter_either="used after it",
    closing_generator_by_name="when Python frees the generator",
    closing_generator_next="when Python frees the generator",
)


@story
def zip_draws():
    def f(x):
        it = iter([1, 2, 3, 4, 5])
        a = list(zip(it, [10, 20]))
        return a, list(it)

    return f, X


@story
def zip_pairs():
    def f(x):
        it = iter([1, 2, 3, 4, 5])
        return list(zip(it, it)), list(it)

    return f, X


@story
def enum_of_iter():
    def f(t):
        it = iter([5, 6, 7, 8])
        next(it)
        for k, v in enumerate(it, 10):  # noqa: B007  # it is read after the loop
            if k > t + 10:
                break
        return k, v, list(it)

    return f, K


@story
def enum_twice():
    def f(x):
        e = enumerate("abc")
        a = next(e)
        return a, list(e), list(e)

    return f, X


@story
def count_local():
    def f(t):
        ids = itertools.count(3)
        for k in ids:
            if k > t + 4:
                break
        return k, next(ids), next(ids)

    return f, K


@story
def cycle_local():
    def f(t):
        c = itertools.cycle("ab")
        n = 0
        s = ""
        while n < t:
            s = next(c)
            n += 1
        return s, next(c)

    return f, K


@story
def map_lazy_effects():
    log = []

    def g(v):
        log.append(v)
        return v

    def f(x):
        m = map(g, [1, 2, 3])
        log.append("made")
        a = next(m)
        if x.sum() > 0:
            b = next(m)
        else:
            b = 0
        return a, b

    return f, X, lambda: list(log)


@story
def map_consumed_twice():
    def f(x):
        m = map(abs, [1, -2])
        return list(m), list(m), sum(m)

    return f, X


@story
def zip_captured_twice():
    def f(x):
        z = zip(x, [1, 2])
        a = [p * q for p, q in z]
        b = [p for p, q in z]
        return a, b

    return f, X


@story
def iter_tensor():
    def f(x):
        it = iter(x)
        a = next(it)
        if a > 2:
            b = next(it)
        else:
            b = a
        return a + b, len(list(it))

    return f, X


@story
def iter_long_tensor():
    def f(x):
        it = iter(x)
        s = x[0] * 0
        for v in it:
            s = s + v
            if s > 10:
                break
        return s, sum(list(it))

    return f, [torch.arange(100.0), torch.ones(100), torch.zeros(100)]


@story
def list_grows_while_iterated():
    def f(x):
        rows = [1, 2]
        it = iter(rows)
        a = next(it)
        rows.append(9)
        return a, list(it)

    return f, X


@story
def sentinel_default():
    def f(t):
        it = iter([1, 2])
        out = []
        for _ in range(4):
            out.append(next(it, None))
        return out

    return f, K


@story
def stopiteration_caught():
    def f(x):
        it = iter([1])
        next(it)
        try:
            next(it)
        except StopIteration:
            return x + 1
        return x

    return f, X


@story
def unpack_iter():
    def f(x):
        it = iter([1, 2, 3])
        a, b, c = it
        return x + a + b * c, list(it)

    return f, X


@story
def star_iter():
    def f(x):
        it = map(float, [1, 2, 3])
        return max(*it), [*it], (0, *map(abs, [-1]))

    return f, X


@story
def iter_in_object():
    class S:
        def __init__(self):
            self.it = iter([1, 2, 3])

        def take(self):
            return next(self.it)

    def f(x):
        s = S()
        a = s.take()
        if x.sum() > 0:
            s.take()
        return a, list(s.it)

    return f, X


@story
def two_names():
    def f(x):
        it = iter([1, 2, 3])
        jt = it
        if x.sum() > 0:
            next(jt)
        return next(it), it is jt, iter(it) is it

    return f, X


@story
def iter_either():
    def f(x):
        if x.sum() > 0:
            it = iter([1, 2])
        else:
            it = iter([3, 4, 5])
        return list(it)

    return f, X


@story
def product_break():
    def f(t):
        it = itertools.product([1, 2], [3, 4])
        for a, b in it:
            if a * b > t + 2:
                break
        return a, b, list(it)

    return f, K


@story
def takewhile_rest():
    def f(t):
        it = iter([1, 2, 3, 4])
        a = list(itertools.takewhile(lambda v: v < 3, it))
        return a, list(it)

    return f, K


@story
def groupby_known():
    def f(x):
        return [(k, len(list(g))) for k, g in itertools.groupby([1, 1, 2])]

    return f, X


@story
def join_map():
    def f(k):
        return ",".join(map(str, [int(k), 2])), "-".join(str(v) for v in [1, 2])

    return f, K


@story
def dict_zip():
    def f(x):
        return dict(zip("ab", [1, 2])), dict(enumerate("xy")), dict(map(lambda v: (v, v), [1]))  # noqa: C417

    return f, X


@story
def sorted_rev():
    def f(x):
        r = reversed([1, 2, 3])
        return (
            sorted(r),
            list(r),
            max(map(abs, [-3, 2])),
            min(zip([2, 1], "ab")),
            sum(map(abs, [-1])),
        )

    return f, X


@story
def any_all():
    def f(x):
        it = iter([0, 0, 3, 4])
        a = any(it)
        b = all(it)
        return a, b, list(it)

    return f, X


@story
def filter_none():
    def f(x):
        fl = filter(None, [0, 1, 2])
        a = next(fl)
        return a, list(fl), list(fl)

    return f, X


@story
def reduce_iter():
    def f(x):
        it = iter([1, 2, 3])
        next(it)
        return functools.reduce(lambda a, b: a * b, it, 10), list(it)

    return f, X


@story
def types_of():
    def f(x):
        return (
            type(iter([])).__name__,
            isinstance(zip(), zip),
            type(map(abs, [])) is map,
            isinstance(iter(()), collections.abc.Iterator),
            bool(iter([])),
        )

    return f, X


@story
def generator_next():
    def f(x):
        g = (v * x.sum() for v in [1, 2, 3])
        a = next(g)
        return a, list(g)

    return f, X


@story
def generator_next_branch():
    def f(x):
        g = (v * x.sum() for v in [1, 2, 3])
        a = next(g)
        if a > 0:
            a = next(g)
        return a, list(g)

    return f, X


def noting(x, log):
    """A generator that notes where it is closed."""
    try:
        for v in x:
            log.append("item")
            yield v
    finally:
        log.append("closed")


@story
def closing_generator_of_the_loop():
    def f(x):
        log = []
        for v in noting(x, log):
            if v > 1.5:
                break
        log.append("after")
        return log

    return f, X


@story
def closing_generator_used_up():
    def f(x):
        log = []
        items = noting(x, log)
        first = next(items)
        for v in items:
            first = first + v
        log.append("after")
        return log, first

    return f, X


@story
def closing_generator_closed():
    def f(x):
        log = []
        items = noting(x, log)
        first = next(items)
        items.close()
        log.append("after")
        return log, first

    return f, X


@story
def closing_generator_by_name():
    def f(x):
        log = []
        items = noting(x, log)
        for v in items:
            if v > 1.5:
                break
        log.append("after")
        return log

    return f, X


@story
def closing_generator_next():
    def f(x):
        log = []
        first = next(noting(x, log))
        log.append("after")
        return log, first

    return f, X


@story.right()
def test_story(name):
    story.check(name)


@pytest.mark.parametrize("name", story.refused)
def test_what_is_not_modelled_is_refused(name):
    story.check_refused(name)
