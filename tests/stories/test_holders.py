"""An object of the caller's is the caller's by whatever holder the function reaches it."""

from __future__ import annotations

import collections
import enum
import functools
import types

import pytest

from tests.stories.book import UP, Book, X


class Counter:
    def __init__(self):
        self.count, self.seen = 0, []

    def up(self):
        self.count += 1
        self.seen.append(self.count)
        return self.count + len(self.seen)


Pair = collections.namedtuple("Pair", "left right")
HOLDERS = {
    "tuple": (lambda o: ((1, (o,)),), lambda h: h[0][1][0]),
    "namedtuple": (lambda o: Pair(o, 1), lambda h: h.left),
    "set": (lambda o: {o}, lambda h: next(iter(h))),
    "frozenset": (lambda o: frozenset([o]), lambda h: next(iter(h))),
    "key": (lambda o: {o: 1}, lambda h: next(iter(h))),
    "mapping proxy": (lambda o: types.MappingProxyType({"o": o}), lambda h: h["o"]),
    "values": (lambda o: {"o": o}.values(), lambda h: next(iter(h))),
    "items": (lambda o: {"o": o}.items(), lambda h: next(iter(h))[1]),
    "method": (lambda o: o.up, lambda h: h.__self__),
    "partial": (lambda o: functools.partial(lambda a: a, o), lambda h: h.args[0]),
    "default": (lambda o: lambda a=o: a, lambda h: h()),
    "closure": (lambda o: lambda: lambda: o, lambda h: h()()),
    "exception": (ValueError, lambda h: h.args[0]),
    "enum": (lambda o: enum.Enum("Held", {"ONE": o}), lambda h: h.ONE.value),
    "class": (lambda o: type("Held", (), {"one": o}), lambda h: h.__dict__["one"]),
    "property": (lambda o: type("Held", (), {"one": property(lambda _: o)})(), lambda h: h.one),
    "cache": (lambda o: functools.cache(lambda: o), lambda h: h()),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_an_object_is_the_callers_by_whatever_holds_it(name):
    hold, reach = HOLDERS[name]

    def make():
        counter = Counter()
        holder = hold(counter)
        return (lambda x: x + reach(holder).up()), X, lambda: (counter.count, counter.seen)

    book = Book()
    book.stories[name] = make
    book.check(name)


def views_of_a_dict():
    table = {"a": 1}
    keys, values = table.keys(), table.values()

    def longer(static):
        table["b"] = 5
        return static(UP)

    def other(static):
        table["a"] = 7
        return static(UP)

    return (lambda x: (sum(values) + len(keys), list(keys))), [UP, longer, other, UP]


def test_a_view_that_the_caller_holds_shows_what_its_dict_has_now():
    book = Book()
    book.stories["views"] = views_of_a_dict
    book.check("views")


def large_numbers():
    counts = [2**70]
    counter = Counter()
    counter.count = 2**62

    def f(x):
        counts[0] += 1
        counter.count *= 2
        return counts[0] % 7, counter.count % 9

    return f, X, lambda: (counts, counter.count)


def test_numbers_of_any_size_are_state():
    book = Book()
    book.stories["large"] = large_numbers
    book.check("large")
