"""Structures: how the flat leaves of a call or of a result are put together.

Structures are layouts (`program/layout.py`). A `Leaf` is a position in a flat tuple. `Choice` is a
choice that a run makes: the number at position `tag` says which alternative holds. `RuntimeList` is
a list of unknown length: each leaf below it is a list, and item k of the whole is built from item k
of each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from typing import Literal as OneOf

from stator.program.layout import Alternatives, Node, Repetition, nodes

ListName = OneOf["list", "tuple", "dict"]


@dataclass(frozen=True)
class Leaf:
    """The value at `position`."""

    position: int


@dataclass(frozen=True)
class ConstantValue:
    """A Python constant that the structure itself carries.

    None, a number or a string; in the process that captured it, also an object of the caller's,
    which a saved program cannot hold.
    """

    value: Any


@dataclass(frozen=True)
class Sequence(Node):
    """A list or a tuple."""

    kind: OneOf["list", "tuple"]
    items: tuple[Structure, ...]

    @property
    def keys(self) -> range:
        """The positions of its items."""
        return range(len(self.items))


@dataclass(frozen=True)
class Mapping(Node):
    """A dict, in its order."""

    keys: tuple[bool | int | float | str | None, ...]
    items: tuple[Structure, ...]


@dataclass(frozen=True)
class Record(Node):
    """A named tuple or a dataclass; `type_name` is `module:qualname`, and is never imported."""

    kind: OneOf["namedtuple", "dataclass", "object"]
    type_name: str
    fields: tuple[str, ...]
    items: tuple[Structure, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of its fields."""
        return self.fields


@dataclass(frozen=True)
class Choice(Alternatives):
    """One of `alternatives`: the number at position `tag` says which."""

    tag: int
    alternatives: tuple[Structure, ...]


@dataclass(frozen=True)
class RuntimeList(Repetition):
    """A list whose length is known only when the program runs; or a tuple, or a dict's pairs."""

    item: Structure
    kind: ListName = "list"


@dataclass(frozen=True)
class Conversion(Node):
    """What `convert` makes of a list, a tuple or a dict: a set, a deque, a Counter, ...

    A file has no such objects: a dict of another class is a dict there, a Parameter is a tensor,
    and anything else is refused.
    """

    name: str
    convert: Callable[[Any], Any]
    items: tuple[Structure, ...]  # only one

    @property
    def keys(self) -> range:
        """The position of what is converted."""
        return range(1)


Structure = Leaf | ConstantValue | Sequence | Mapping | Record | Choice | RuntimeList | Conversion


def size_fields(rank: int) -> tuple[str, ...]:
    """The fields of a `torch.Size` of that many sizes, which is a record of type `torch:Size`."""
    return tuple(f"size_{dimension}" for dimension in range(rank))


def positions_in(structure: Structure) -> Iterator[int]:
    """The positions of all leaves below `structure`, tags included."""
    for node in nodes(structure):
        if isinstance(node, Leaf):
            yield node.position
        elif isinstance(node, Choice):
            yield node.tag
