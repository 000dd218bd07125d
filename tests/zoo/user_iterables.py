"""Builtins over objects whose `__iter__`, or `__getitem__`, a user wrote."""

from __future__ import annotations

import dataclasses
import enum
import functools
import itertools

from tests.zoo.programs import f, i, program

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
    """`__iter__` runs once for each builtin."""
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


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


@program(*PATHS)
def a_member_that_is_a_number(x):
    """It stays a member of its class after a branch."""
    level = Level.HIGH if x.sum() > 0 else Level.LOW
    return x * level, level > 2, level.name, int(level) + 1


def naturals():
    n = 0
    while True:
        yield n
        n += 1


@program(*PATHS)
def the_start_of_an_endless_generator(x):
    """No item is taken that is not asked for."""
    numbers = naturals()
    first = list(itertools.islice(numbers, 3))
    return x + sum(itertools.islice(naturals(), 1, 9, 2)), first, next(numbers)


@dataclasses.dataclass
class Reading:
    values: object
    notes: list
    count: int = 0


@program(*PATHS)
def dataclasses_as_dicts_and_tuples(x):
    """Captured tensors and lists inside are copied."""
    reading = Reading(x, [x, {"n": (1, x * 2)}])
    for v in x:
        if v > 0:
            reading.count += 1
    return dataclasses.asdict(reading), dataclasses.astuple(reading)


@program((i(0),), (i(1),), (i(3),), (i(9),))
def function_that_gives_the_items(k):
    """`iter(function, last)`: the function is called as items are asked for, and once more."""
    state, taken = [int(k), 0], []

    def halve():
        state[0] //= 2
        return state[0]

    def count():
        state[1] += 1
        return state[1]

    for number in iter(count, 5):
        taken.append(number)
        if number > k:
            break
    return list(iter(halve, 0)), state, taken
