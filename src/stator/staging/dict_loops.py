"""taken(): the items of a loop that Python runs, and the error of a dict that the body changes.

Python raises when a loop asks a dict for the next item after it got or lost a key. Where only some
paths have changed the dict, a run has to ask; and it asks only if there is another iteration.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from stator.capture.branches import defined
from stator.capture.conditions import raise_if
from stator.containers.maybe_keys import maybe_absent
from stator.errors import UnsupportedCall
from stator.frames import current_place
from stator.state.session import Session
from stator.values.annotations import Staged
from stator.values.staged import StagedDict, StagedList, is_table
from stator.values.symbolic import Undefined

EMPTY: dict[object, object] = {}
VIEWS = (type(EMPTY.keys()), type(EMPTY.values()), type(EMPTY.items()))
CHANGED = "dictionary changed size during iteration"


@dataclass(frozen=True)
class NextItem:
    """What the next iteration begins with: a check, then an item, if there is one."""

    session: Session
    table: Staged
    keys: tuple[object, ...]
    item: tuple[Staged, ...]
    error: RuntimeError | None = None

    def check(self) -> bool:
        """Raise, now or in the program, if the dict has changed; whether there is an item."""
        if self.error is not None:
            raise self.error
        if self.table is not None:
            _check(self.session, self.table, self.keys)
        return bool(self.item)


def taken(session: Session, iterable: Staged) -> Iterator[Staged]:
    """The items; a `NextItem` in the place of one that may not be there for the asking."""
    table = iterable.mapping if isinstance(iterable, VIEWS) else iterable
    if type(table) in (dict, StagedDict, types.MappingProxyType) and not is_table(table):
        yield from _of_dict(session, iterable, table)
        return
    try:
        yield from _items(iterable)
    except RuntimeError as error:
        yield NextItem(session, None, (), (), error)


@contextmanager
def unchanged(table: Staged) -> Iterator[None]:
    """An error where a loop changes the keys of `table`, some of which may be absent already."""
    before = _keys_of(table)
    yield
    if _keys_of(table) != before:
        raise UnsupportedCall(
            "a dict with a key that only some paths have set gets or loses keys in a loop over it",
            at=current_place(), fix="loop over a copy: `list(...)`",
        )  # fmt: skip


def _keys_of(table: Staged) -> list[tuple[object, bool]] | None:
    return None if is_table(table) else [(key, maybe_absent(value)) for key, value in table.items()]


def _of_dict(session: Session, iterable: Staged, table: Staged) -> Iterator[Staged]:
    keys, writes = tuple(table), session.journal.writes
    for key in keys:
        if session.journal.writes == writes or not _is_changed(table, keys):
            yield _item(iterable, table, key)
        else:
            yield NextItem(session, table, keys, (_item(iterable, table, key),))
    if session.journal.writes != writes and _is_changed(table, keys):
        yield NextItem(session, table, keys, ())


def _item(iterable: Staged, table: Staged, key: object) -> Staged:
    if isinstance(iterable, VIEWS[1]):
        return table.get(key)
    return (key, table.get(key)) if isinstance(iterable, VIEWS[2]) else key


def _items(iterable: Staged) -> Iterator[Staged]:
    """A list is read by index, as it may become one of the program on the way."""
    if not isinstance(iterable, StagedList):
        yield from iterable
        return
    at = 0
    while not iterable.is_open and at < len(iterable):
        yield iterable[at]
        at += 1


def _is_changed(table: Staged, keys: tuple[object, ...]) -> bool:
    return is_table(table) or tuple(table) != keys or any(map(maybe_absent, table.values()))


def _check(session: Session, table: Staged, keys: tuple[object, ...]) -> None:
    if is_table(table):
        raise UnsupportedCall(
            "a dict gets a key that only a run knows while a loop goes through it",
            at=current_place(), fix="loop over a copy: `list(...)`",
        )  # fmt: skip
    known = {*keys}
    maybe = [key for key, value in table.items() if maybe_absent(value)]
    lost = [key for key in maybe if key in known]
    if not maybe and len(table) != len(keys):
        raise RuntimeError(CHANGED)
    if (lost and len(lost) < len(maybe)) or len({*table} - {*maybe} | {*lost}) != len(keys):
        raise UnsupportedCall(
            "a dict gets some keys and loses others while a loop goes through it",
            at=current_place(), fix="loop over a copy: `list(...)`",
        )  # fmt: skip
    for key in maybe:
        if key in known:
            defined(session.recorder, table[key], RuntimeError(CHANGED))
        else:
            present = session.recorder.apply_all(table[key], _is_there)
            raise_if(session.recorder, session.interpreter.truth(present), RuntimeError(CHANGED))


def _is_there(value: object) -> bool:
    return not isinstance(value, Undefined)
