"""Builtins over objects whose `__iter__`, or `__getitem__`, a user wrote."""

from __future__ import annotations

import functools

from tests.zoo.programs import f, program

PATHS = ((f(1.0, 2.0),), (f(-1.0, -2.0),), (f(3.0, -1.0),))


class Bag:
    def __init__(self):
        self.items, self.passes = [], 0

    def __iter__(self):
        self.passes += 1
        return iter(self.items)


class Row:
    def __init__(self, values):
        self.values = values

    def __getitem__(self, at):
        return self.values[at]

    def __add__(self, other):
        return Row(self.values + (other.values if isinstance(other, Row) else other))


@program(*PATHS)
def a_bag_of_a_runs_items(x):
    bag = Bag()
    for v in x:
        if v > 0:
            bag.items.append(v.item())
    found = sum(bag), list(bag), tuple(bag), sorted(bag), max(bag, default=0.0), any(bag)
    return found, functools.reduce(lambda a, b: a + b, bag, 1.0), bag.passes


@program(*PATHS)
def a_start_that_is_no_iterable(x):
    """`sum` adds to it, though a loop could go through it."""
    rows = [Row(x), Row(x * 2)]
    return sum(rows, Row(x * 0)).values
