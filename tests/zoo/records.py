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
