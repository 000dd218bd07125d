"""Journal: what Python code changed, block by block.

Lists, dicts, sets, attributes and closure cells that a recorded block writes are part of the
block's result, as much as the names it assigns. Before the first write in a block the object's
state is noted; when the block ends, the state after it is taken and the state before it put back.
"""

from __future__ import annotations

import collections
import contextvars
import types
from collections.abc import Callable
from typing import Any

from stator.capture.places import current_place
from stator.capture.values import Columns, Locals, StagedDict, StagedList, StagedSet
from stator.location import Location

STAGED = (StagedList, StagedDict, StagedSet)


class Journal:
    """The states that objects had before this block changed them, in the order of first writes."""

    def __init__(self, parent: Journal | None) -> None:
        self.parent = parent
        self._before: dict[int, tuple[Any, Any]] = {}
        # where each object was first written to, in any block; the object keeps its id its own
        self._places: dict[int, tuple[Any, Location | None]] = parent._places if parent else {}

    def note(self, obj: Any) -> None:
        """`obj` is about to be changed."""
        if id(obj) not in self._before:
            self._before[id(obj)] = (obj, state_of(obj))
            if id(obj) not in self._places:
                self._places[id(obj)] = (obj, current_place())

    def place_of(self, obj: Any) -> Location | None:
        """The line that wrote to `obj` first."""
        return self._places[id(obj)][1] if id(obj) in self._places else None

    def forget(self, fresh: Callable[[Any], bool]) -> None:
        """What the block itself made is not changed by it: it is part of what the block gives."""
        self._before = {key: entry for key, entry in self._before.items() if not fresh(entry[0])}

    def changed(self) -> list[tuple[Any, Any]]:
        """(object, its state before) for every object whose state is another one now."""
        return [
            (obj, before)
            for obj, before in self._before.values()
            if not same_state(before, state_of(obj))
        ]

    def changed_so_far(self) -> list[tuple[Any, Any]]:
        """(object, its state before the capture) for every object that is another one now."""
        found: dict[int, tuple[Any, Any]] = {}
        journal: Journal | None = self
        while journal is not None:
            found = {
                **journal._before,
                **{k: v for k, v in found.items() if k not in journal._before},
            }
            journal = journal.parent
        return [
            (obj, before) for obj, before in found.values() if not same_state(before, state_of(obj))
        ]

    def has_noted(self, obj: Any) -> bool:
        """Has this block, or one around it, perhaps changed `obj`?"""
        journal: Journal | None = self
        while journal is not None:
            if id(obj) in journal._before:
                return True
            journal = journal.parent
        return False

    def first_state(self, obj: Any) -> Any:
        """What `obj` was before the first write of the capture; None if there was none."""
        journal: Journal | None = self
        state = None
        while journal is not None:
            _, state = journal._before.get(id(obj), (obj, state))
            journal = journal.parent
        return state

    def noted(self) -> list[tuple[Any, Any]]:
        """(object, its state before) for every object that was about to be changed."""
        return list(self._before.values())

    def keep(self) -> None:
        """The block was no block after all: what it changed, the enclosing one has changed."""
        assert self.parent is not None
        for key, entry in self._before.items():
            self.parent._before.setdefault(key, entry)

    def undo(self) -> None:
        """Put every object back as it was before the block."""
        for obj, before in self._before.values():
            restore(obj, before)


def state_of(obj: Any) -> Any:
    """The contents of a mutable object: a tuple for a sequence, a dict for anything with names."""
    if isinstance(obj, Locals):
        return obj.state()
    if isinstance(obj, STAGED) and obj.columns is not None:
        return obj.columns
    if isinstance(obj, list | collections.deque):
        return tuple(list.__iter__(obj)) if isinstance(obj, list) else tuple(obj)
    if isinstance(obj, dict):
        return dict(obj)
    if isinstance(obj, set):
        return frozenset(obj)
    if isinstance(obj, types.CellType):
        return {"cell": obj.cell_contents} if _is_filled(obj) else {}
    if isinstance(obj, contextvars.ContextVar):
        return _variable(obj)
    return dict(vars(obj))


def _variable(variable: contextvars.ContextVar[Any]) -> dict[str, Any]:
    """The value of a context variable, its default included; nothing where it has none."""
    try:
        return {"value": variable.get()}
    except LookupError:
        return {}


def restore(obj: Any, state: Any) -> None:
    """Make `state` the contents of `obj` again."""
    if isinstance(obj, Locals):
        obj.restore(state)
    elif isinstance(obj, STAGED):
        obj.columns = state if isinstance(state, Columns) else None
        obj.clear()
        if obj.columns is None:
            obj.extend(state) if isinstance(obj, list) else obj.update(state)
    elif isinstance(obj, dict):
        refill(obj, state)
    elif isinstance(obj, list | set | collections.deque):
        obj.clear()
        obj.update(state) if isinstance(obj, set) else obj.extend(state)
    elif isinstance(obj, types.CellType):
        if "cell" in state:
            obj.cell_contents = state["cell"]
        elif _is_filled(obj):
            del obj.cell_contents
    elif isinstance(obj, contextvars.ContextVar):
        if state:  # no state: it has no value, and the context of the capture ends anyway
            obj.set(state["value"])
    else:
        vars(obj).clear()
        vars(obj).update(state)


def refill(obj: dict[Any, Any], state: dict[Any, Any]) -> None:
    """Make `state` the contents of a dict, by the plain methods: a subclass may forbid its own."""
    plain = collections.OrderedDict if isinstance(obj, collections.OrderedDict) else dict
    plain.clear(obj)
    for key, value in state.items():
        plain.__setitem__(obj, key, value)


def same_state(a: Any, b: Any) -> bool:
    """Do two states hold the very same objects?"""
    if isinstance(a, Columns) or isinstance(b, Columns):
        return a is b
    if isinstance(a, dict):
        return list(a) == list(b) and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, frozenset):
        return a == b
    return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is type(b) and isinstance(a, float):
        return repr(a) == repr(b)  # 0.0 is not -0.0
    return type(a) is type(b) and isinstance(a, bool | int | str) and bool(a == b)


def _is_filled(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True
