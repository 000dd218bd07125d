"""Slots: the places outside that hold what a program reads before each run."""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any

from stator.state.holding import holding, weakly
from stator.values.attributes import own_attribute
from stator.values.contents import change

EMPTY = object()


@holding(owner=weakly)
@dataclass(frozen=True)
class Slot:
    """A place that holds a value: an attribute, an item of a dict, a variable in a cell."""

    owner: Any
    key: Any
    shape: tuple[int | None, ...] | None = None  # of a tensor; None in it is any size

    def read(self) -> Any:
        """What it holds now; EMPTY if nothing."""
        if isinstance(self.owner, types.CellType):
            try:
                return self.owner.cell_contents
            except ValueError:
                return EMPTY
        if isinstance(self.owner, dict):
            return dict.get(self.owner, self.key, EMPTY)
        return own_attribute(self.owner, self.key, EMPTY)

    def leaves(self) -> tuple[object, ...]:
        """What the program takes of it."""
        return (self.read(),)

    def write(self, value: object) -> None:
        """Put `value` there, without running a setter or a `__setattr__`."""
        if isinstance(self.owner, types.CellType):
            self.owner.cell_contents = value
        else:
            change(self.owner, {self.key: value}, ())

    def is_same_place(self, other: Any) -> bool:
        """Is `other` this place, whatever is known of what it holds?"""
        return bool(self.key == other.key) and _table(self.owner) is _table(other.owner)

    def in_words(self) -> str:
        """How an error or a reason calls it."""
        if isinstance(self.owner, types.CellType):
            return "an enclosing function's variable"
        if isinstance(self.owner, dict):
            return f"[{self.key!r}]"
        cls = self.owner if isinstance(self.owner, type) else type(self.owner)
        return f"{cls.__name__}.{self.key}"


def _table(owner: object) -> Any:
    """The dict that holds the attributes of `owner`, which may be known by itself, too."""
    own = getattr(owner, "__dict__", None)
    return own if type(own) is dict else owner
