"""Attributes in other places than a `__dict__`: slots, and those of classes."""

from __future__ import annotations

import dataclasses
import heapq

from tests.zoo.programs import f, i, program


class Slotted:
    """Two slots; its text cannot be made before both are set."""

    __slots__ = ("low", "value")

    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return f"Slotted({self.low}, {self.value})"


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def slots_made_inside(x):
    """An object with slots, whose `repr` raises, changed on one path."""
    box = Slotted(x)
    try:
        box.low = 1
        if x.sum() > 0:
            box.low = 2
            box.value = x * 2
        return box.value * box.low
    except AttributeError:
        return x * 0


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def slots_in_a_loop(x):
    """A slot that a recorded loop changes, and one that is deleted."""
    box = Slotted(x.sum())
    box.low = 3
    while box.value < 10:
        box.value = box.value + 4
    del box.low
    return box.value, hasattr(box, "low")


KEPT = Slotted(1)
KEPT.low = 0


@program((f(1.0, 2.0),), (f(3.0, 2.0),), (f(3.0, 5.0),), refused_saved="ST200",
         watch=lambda: (KEPT.low, KEPT.value), reset=lambda: KEPT.__init__(1))  # fmt: skip
def slots_of_the_caller(x):
    """A slot of an object from outside counts the calls."""
    KEPT.value += 1
    return x * KEPT.value


class Setting:
    """A setting that a context manager sets and sets back."""

    on = False

    def __enter__(self):
        self.before = Setting.on
        Setting.on = True

    def __exit__(self, *_):
        Setting.on = self.before


@program((f(1.0, 2.0),), (f(-1.0, -2.0),), watch=lambda: Setting.on)
def class_attribute_set_and_set_back(x):
    """A class attribute decides, inside and after the `with`."""
    with Setting():
        y = x * 2 if Setting.on else x
        if x.sum() > 0:
            with Setting():
                y = y + (1 if Setting().on else 5)
    return y if not Setting.on else x * 0


class Counted:
    """Has a counter."""

    count = 0


def _reset():
    Counted.count = 0


@program((f(1.0, 2.0),), (f(3.0, 2.0),), (f(3.0, 5.0),), refused_saved="ST200",
         watch=lambda: Counted.count, reset=_reset)  # fmt: skip
def class_counts_calls(x):
    """A class attribute counts the calls."""
    Counted.count += 1
    return x * Counted().count


class Numbered:
    """Counts in its class, by whatever name it has it."""

    count = 0

    @classmethod
    def by_class_method(cls):
        """`cls` is reached through an object."""
        cls.count += 1
        return cls.count

    def by_type(self):
        """`type(self)`, then `self.__class__`."""
        type(self).count += 1
        self.__class__.count += 1
        return type(self).count


NUMBERED = Numbered()


def _reset_numbers():
    Numbered.count = 0


@program((f(1.0, 2.0),), (f(3.0, 2.0),), (f(3.0, 5.0),),
         stages=("rewritten", "captured", "unoptimised"),
         watch=lambda: Numbered.count, reset=_reset_numbers)  # fmt: skip
def class_counts_through_objects(x):
    """A class attribute that is only reached through an object."""
    return x * NUMBERED.by_class_method() + NUMBERED.by_type()


class Cell:
    """A node of a linked list, with slots only."""

    __slots__ = ("following", "label", "weight")

    def __init__(self, weight, label=None, following=None):
        self.weight, self.label, self.following = weight, label, following

    def __lt__(self, other):
        return self.weight < other.weight


@dataclasses.dataclass(slots=True)
class Spot:
    """A dataclass with slots."""

    at: float
    hits: int = 0


@program((f(3.0, 1.0, 2.0), i(3)), (f(-1.0, -2.0, 0.5), i(2)), (f(1.0, 2.0, 3.0), i(0)))
def slots_joined_listed_and_returned(x, n):
    """Objects with slots are joined after a branch, known by reference in lists, and returned."""
    best = Cell(0.0)
    spot = Spot(0.5)
    if x.sum() > 0:
        best = Cell(x.sum().item(), 3)
        spot = Spot(x.max().item(), 1)
    head, cells, spots, k = None, [], [], 0
    while k < n:
        head = Cell(float(x[k]), None, head)
        cells.append(head)
        spots.append(Spot(float(x[k])))
        spots[-1].hits += k
        k += 1
    heapq.heapify(cells)
    if cells:
        cells[0].weight = 9.0
    total = 0.0
    while head is not None:
        total += head.weight
        head = head.following
    return best.weight, best.label, spot, total, len(cells), spots


@program((f(0.0, 1.0, 2.0, 0.0, 3.0),), (f(0.0, 0.0),), (f(1.0, 4.0),), dynamic=({0},))
def optional_object_changed_in_a_loop(x):
    """A state machine: the attributes of what is None before it begins are set."""
    current, found, speaks = None, [], False
    for k, value in enumerate(x):
        if not speaks:
            if value > 0:
                current, speaks = Spot(float(k)), True
        elif value > 0:
            current.hits += 1
        else:
            current.at, speaks = current.at + 0.5, False
            found.append(current)
    if speaks:
        found.append(current)
    return [(spot.at, spot.hits) for spot in found], speaks


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def attributes_set_of_what_has_none(x):
    """Of None, of a number that the data give, and of a list: Python's own errors."""
    spot = Spot(0.5) if x.sum() > 0 else None
    texts = []
    for value in (spot, int(x[0]), x.sum().item(), [x], (x,)):
        try:
            value.hits = 4
        except AttributeError as error:
            texts.append(str(error))
    return texts, spot


@program((f(1.0, 2.0),), (f(-1.0, -2.0),), may_raise=True)
def attribute_set_of_none_on_one_path(x):
    """It is not caught."""
    spot = None
    if x.sum() > 0:
        spot = Spot(0.5)
    spot.hits = 3
    return spot
