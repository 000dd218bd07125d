"""Dataclasses, properties, descriptors and `__setattr__`: what runs behind an attribute."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

from tests.zoo.programs import f, i, program

SIDES = ((f(1.0, 2.0),), (f(-1.0, -2.0),))


@dataclasses.dataclass
class Box:
    value: Any
    scale: Any = 2
    log: list = dataclasses.field(default_factory=list)
    total: Any = dataclasses.field(init=False, default=None)

    def __post_init__(self):
        if self.value.sum() > 0:
            self.scale = self.scale * 3
        self.total = self.value * self.scale


@dataclasses.dataclass(order=True)
class Version:
    major: int
    minor: int


class Checked:
    """Writes go through `__setattr__`."""

    def __init__(self):
        object.__setattr__(self, "seen", {})

    def __setattr__(self, name, value):
        self.seen[name] = value * 2

    def __getattr__(self, name):
        return self.seen.get(name, 1)


class Doubling:
    """A descriptor that doubles what it is given."""

    def __get__(self, owner, kind):
        return getattr(owner, "held", 1)

    def __set__(self, owner, value):
        owner.held = value * 2


class Described:
    v = Doubling()


class Clamped:
    def __init__(self):
        self._v = 0

    @property
    def v(self):
        return self._v

    @v.setter
    def v(self, value):
        self._v = 3 if value > 3 else value


@program(*SIDES)
def dataclass_with_post_init(x):
    """`__post_init__` decides by the data."""
    box = Box(x)
    box.log.append(1)
    return box.total, box.scale, len(box.log)


@program((i(1),), (i(2),), (i(3),))
def dataclasses_compared(n):
    """The comparisons that `@dataclass` generates."""
    version = Version(int(n), 1)
    return version == Version(2, 1), version != Version(2, 1), version < Version(2, 5)


@program((i(1),), (i(2),))
def dicts_compared(n):
    """Dicts with numbers of the program in them."""
    table = {"a": int(n), "b": 1}
    return table == {"a": 2, "b": 1}, table != {"a": 2, "b": 1}, table == {"a": 2}


@program(*SIDES)
def own_setattr_on_one_path(x):
    """A write through `__setattr__`, read through `__getattr__`."""
    box = Checked()
    if x.sum() > 0:
        box.v = 5
    return x * box.v


@program(*SIDES)
def descriptor_on_one_path(x):
    """A write through a descriptor."""
    box = Described()
    if x.sum() > 0:
        box.v = 5
    return x * box.v


@program((i(1),), (i(7),))
def setter_decides_by_data(n):
    """A property's setter with a branch of the program."""
    box = Clamped()
    box.v = int(n)
    return box.v


class OrderedFields(collections.OrderedDict):
    """What the outputs of diffusion and language models are: a dict and its attributes at once."""

    def __post_init__(self):
        fields = dataclasses.fields(self)
        is_alone = all(getattr(self, field.name) is None for field in fields[1:])
        for field in fields:
            if getattr(self, field.name) is not None:
                self[field.name if not is_alone else "only"] = getattr(self, field.name)

    def __setattr__(self, name, value):
        if name in self.keys() and value is not None:
            super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)


@dataclasses.dataclass
class Output(OrderedFields):
    sample: Any
    origin: Any = None


@program(*SIDES)
def dataclasses_that_are_dicts(x):
    """A generator inside `__post_init__` sees the object that is being made."""
    one, two = Output(sample=x * 2), Output(sample=x, origin=x + 1)
    return one.sample + two["origin"], list(one), list(two)


Hypothesis = collections.namedtuple("Hypothesis", "score tokens done", defaults=(False,))


@program((i(3),), (i(0),), (i(5),))
def lists_of_a_run_in_named_tuples(x):
    """A named tuple with a list of data-dependent length in it: made, replaced, sorted."""
    tokens = list(range(int(x)))
    one = Hypothesis(0.5, tokens)
    other = one._replace(tokens=one.tokens + [7], done=x > 2)
    made = Hypothesis._make([2.0, [1], True])
    best = sorted([one, other, made], key=lambda found: (-len(found.tokens), found.score))[0]
    return one, other.tokens, len(best.tokens), [found.done for found in (one, other, made)]


@dataclasses.dataclass(frozen=True, order=True)
class Cell:
    """A place on a grid; as a key it is found by its fields."""

    row: int
    column: int

    def moved(self, rows):
        return Cell(self.row + rows, self.column)


@program((i([1, 3]),), (i([4, 2]),), (i([2, 2]),), (i([0, 5]),))
def frozen_dataclasses_in_a_set(x):
    """Those that a search has seen, and its queue."""
    seen, order = set(), []
    waiting = [Cell(int(x[0]), 0)]
    while waiting:
        cell = waiting.pop(0)
        if cell in seen or cell.row > x[1] or cell.row < 0:
            continue
        seen.add(cell)
        order.append(cell.row)
        waiting.append(cell.moved(1))
        waiting.append(cell.moved(-1))
    return order, len(seen)


@program((i([1, 3, 4]),), (i([4, 2, 0]),), (i([2, 2, 2]),))
def frozen_dataclasses_as_keys(x):
    """Numbers of the run in the keys; the dict is searched and returned."""
    best = {}
    for v in x:
        cell = Cell(int(v) % 3, 1)
        best[cell] = min(best.get(cell, 99), int(v))
    top = max(best, key=lambda cell: best[cell])
    return best[top], top.row, [cell.row for cell in best], best, Cell(int(x[0]), 1) in {Cell(1, 1)}


@program((i([1, -3, 4]),), (i([4, 2, 0]),), may_raise=True)
def frozen_dataclasses_in_a_list(x):
    """Their fields cannot be set there either."""
    cells = []
    for v in x:
        if v > 0:
            cells.append(Cell(int(v), 2))
    try:
        cells[0].row = 3
    except dataclasses.FrozenInstanceError as error:
        return str(error), cells
    return None
