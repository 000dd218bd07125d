"""Contents: the state of mutable objects, to be noted, compared, put back or changed.

The state of a sequence is a tuple, that of a set a frozenset, and that of anything with names or
keys a dict; the state of a staged container whose items live in the program is its `Columns`.
A mutable type is added by one entry in `MUTABLE`.
"""

from __future__ import annotations

import collections
import contextvars
import itertools
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from stator.values.attributes import attributes_of, update_attributes, write_attributes
from stator.values.containers import fill_dict, plain_items, update_dict
from stator.values.staged import Columns, Locals, StagedContainer, StagedList

ObjectState = Any  # Columns, a tuple, a frozenset or a dict


@dataclass(frozen=True)
class MutableType:
    """How the state of instances of some types is read and written."""

    types: tuple[type, ...]
    read: Callable[[Any], ObjectState]
    write: Callable[[Any, ObjectState], None]


def state_of(obj: object) -> ObjectState:
    """The contents of a mutable object."""
    return _mutable(obj).read(obj)


def restore(obj: object, state: ObjectState) -> None:
    """Make `state` the contents of `obj` again."""
    _mutable(obj).write(obj, state)


def change(obj: Any, state: ObjectState, deleted: Sequence[object]) -> None:
    """Make `state` the contents of `obj`; of attributes and dict items, only those that it names.

    What is `deleted` goes.
    """
    if isinstance(state, int):  # of an iterator
        collections.deque(itertools.islice(obj, state), maxlen=0)  # so many items are taken
        return
    if isinstance(obj, dict) and not isinstance(state, dict):  # all the pairs
        fill_dict(obj, dict(state))
        return
    if not isinstance(state, dict) or isinstance(obj, types.CellType | contextvars.ContextVar):
        restore(obj, state)
        return
    (update_dict if isinstance(obj, dict) else update_attributes)(obj, state, deleted)


def _mutable(obj: object) -> MutableType:
    return next((entry for entry in MUTABLE if isinstance(obj, entry.types)), ATTRIBUTES)


def _read_staged(obj: Any) -> ObjectState:
    return obj.columns if obj.columns is not None else _mutable_plain(obj).read(obj)


def _write_staged(obj: Any, state: ObjectState) -> None:
    obj.columns = state if isinstance(state, Columns) else None
    obj.clear()
    if obj.columns is None:
        obj.extend(state) if isinstance(obj, StagedList) else obj.update(state)


def _mutable_plain(obj: StagedContainer) -> MutableType:
    return next(entry for entry in MUTABLE if obj.plain in entry.types)


def _write_list(obj: Any, state: ObjectState) -> None:
    obj.clear()
    obj.extend(state)


def _write_set(obj: set[Any], state: ObjectState) -> None:
    """Only what differs is changed: the order of the others stays as it is."""
    wanted = set(state)
    obj.difference_update([item for item in set.__iter__(obj) if item not in wanted])
    obj.update(state)


def _read_cell(cell: types.CellType) -> ObjectState:
    try:
        return {"cell": cell.cell_contents}
    except ValueError:
        return {}


def _write_cell(cell: types.CellType, state: ObjectState) -> None:
    if "cell" in state:
        cell.cell_contents = state["cell"]
    elif _read_cell(cell):
        del cell.cell_contents


def _read_variable(variable: contextvars.ContextVar[Any]) -> ObjectState:
    """The value of a context variable, its default included; nothing where it has none."""
    try:
        return {"value": variable.get()}
    except LookupError:
        return {}


def _write_variable(variable: contextvars.ContextVar[Any], state: ObjectState) -> None:
    if state:  # no state: it has no value, and the context of the capture ends anyway
        variable.set(state["value"])


MUTABLE = (
    MutableType((Locals,), Locals.state, Locals.restore),
    MutableType((StagedContainer,), _read_staged, _write_staged),
    MutableType((list,), lambda obj: tuple(list.__iter__(obj)), _write_list),
    MutableType((collections.deque,), tuple, _write_list),
    MutableType((dict,), plain_items, fill_dict),
    MutableType((set,), frozenset, _write_set),
    MutableType((types.CellType,), _read_cell, _write_cell),
    MutableType((contextvars.ContextVar,), _read_variable, _write_variable),
)
ATTRIBUTES = MutableType((), attributes_of, write_attributes)


def same_state(a: ObjectState, b: ObjectState) -> bool:
    """Do two states hold the very same objects?"""
    if isinstance(a, Columns) or isinstance(b, Columns):
        return a is b
    if isinstance(a, dict):
        return list(a) == list(b) and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, frozenset):
        return bool(a == b)
    return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))


def _same(a: object, b: object) -> bool:
    if a is b:
        return True
    if type(a) is type(b) and isinstance(a, float):
        return repr(a) == repr(b)  # 0.0 is not -0.0
    return type(a) is type(b) and isinstance(a, bool | int | str) and bool(a == b)
