"""taken(): the items of a loop that Python runs, and the error of a dict or set that it changes.

Python raises when a loop asks a dict for the next item after it got or lost a key. Where only some
paths have changed the dict, a run has to ask; and it asks only if there is another iteration.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from stator.capture.branches import defined
from stator.capture.conditions import raise_if, refuse_if
from stator.containers.set_definitions import lacks_one
from stator.errors import UnsupportedCall
from stator.state.session import Session
from stator.values.annotations import Staged
from stator.values.staged import StagedDict, StagedList, StagedSet, is_table
from stator.values.symbolic import Undefined
from stator.values.union import maybe_absent

EMPTY: dict[object, object] = {}
VIEWS = (type(EMPTY.keys()), type(EMPTY.values()), type(EMPTY.items()))
CHANGED = "dictionary changed size during iteration"
EXCHANGED = "a set loses an item and gets another while a loop iterates over it"
SET_CHANGED = "Set changed size during iteration"


@dataclass(frozen=True)
class NextItem:
    """What the next iteration begins with: a check, then an item, if there is one."""

    session: Session
    table: Staged
    keys: tuple[object, ...]
    read: Callable[[Staged], Staged] | None = None  # of the table: the item, if there is one
    error: RuntimeError | None = None

    def item(self) -> tuple[Staged, ...]:
        """The item, if there is one; raises, now or in the program, if the dict has changed."""
        if self.error is not None:
            raise self.error
        check = _checked_set if isinstance(self.table, set) else _checked
        whole = check(self.session, self.table, self.keys)
        return () if self.read is None else (self.read(whole),)


def taken(session: Session, iterable: Staged) -> Iterator[Staged]:
    """The items; a `NextItem` in place of one that must not be read before its iteration."""
    table = iterable.mapping if isinstance(iterable, VIEWS) else iterable
    if type(table) in (dict, StagedDict, types.MappingProxyType) and not is_table(table):
        yield from _of_dict(session, iterable, table)
        return
    if isinstance(table, StagedSet) and not is_table(table):
        yield from _of_set(session, table)
        return
    try:
        yield from _items(iterable)
    except RuntimeError as error:
        yield NextItem(session, None, (), error=error)


@contextmanager
def unchanged(table: Staged) -> Iterator[None]:
    """An error where a loop changes the keys of `table`, some of which may be absent already."""
    before = _keys_of(table)
    yield
    if _keys_of(table) != before:
        raise UnsupportedCall(
            "a dict with a key that only some paths have set gets or loses keys in a loop over it",
            fix="loop over a copy: `list(...)`",
        )


def _keys_of(table: Staged) -> list[tuple[object, bool]] | None:
    return None if is_table(table) else [(key, maybe_absent(value)) for key, value in table.items()]


def _of_dict(session: Session, iterable: Staged, table: Staged) -> Iterator[Staged]:
    keys, writes = tuple(table), session.journal.writes
    for key in keys:
        if session.journal.writes == writes or not _is_changed(table, keys):
            yield _item(iterable, table, key)
        else:
            yield NextItem(session, table, keys, functools.partial(_item, iterable, key=key))
    if session.journal.writes != writes and _is_changed(table, keys):
        yield NextItem(session, table, keys)


def _of_set(session: Session, items: Staged) -> Iterator[Staged]:
    known, writes = tuple(items), session.journal.writes
    for item in known:
        if session.journal.writes == writes or not _is_changed_set(items, known):
            yield item
        else:
            yield NextItem(session, items, known, functools.partial(_given, item))
    if session.journal.writes != writes and _is_changed_set(items, known):
        yield NextItem(session, items, known)


def _is_changed_set(items: Staged, known: tuple[object, ...]) -> bool:
    return items.is_open or set(items) != set(known)


def _given(item: Staged, _: Staged) -> Staged:
    return item


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


def _checked(session: Session, table: Staged, keys: tuple[object, ...]) -> Staged:
    """The dict as it is where it has not changed."""
    if is_table(table):
        raise UnsupportedCall("a dict gets a data-dependent key while a loop iterates over it",
                              fix="loop over a copy: `list(...)`")  # fmt: skip
    known = {*keys}
    maybe = [key for key, value in table.items() if maybe_absent(value)]
    lost = [key for key in maybe if key in known]
    if not maybe and len(table) != len(keys):
        raise RuntimeError(CHANGED)
    if (lost and len(lost) < len(maybe)) or len({*table} - {*maybe} | {*lost}) != len(keys):
        raise UnsupportedCall(
            "a dict gets some keys and loses others while a loop iterates over it",
            fix="loop over a copy: `list(...)`",
        )
    whole = dict(table)
    for key in maybe:
        if key in known:
            whole[key] = defined(session.recorder, table[key], RuntimeError(CHANGED))
        else:
            present = session.recorder.apply_all(table[key], _is_there)
            raise_if(session.recorder, session.interpreter.truth(present), RuntimeError(CHANGED))
    return whole


def _checked_set(session: Session, items: Staged, known: tuple[object, ...]) -> Staged:
    """The set as it is where it has not changed."""
    if not items.is_open and len(items) == len(known):
        raise UnsupportedCall("a set loses an item and gets another while a loop iterates over it",
                              fix="loop over a copy: `list(...)`")  # fmt: skip
    interpreter = session.interpreter
    size = interpreter.call(len, items)
    changed = interpreter.truth(interpreter.compare(size, "!=", len(known)))
    raise_if(session.recorder, changed, RuntimeError(SET_CHANGED))
    lost = interpreter.truth(interpreter.run(lacks_one, items, known))
    refuse_if(session.recorder, lost, EXCHANGED)
    return items


def _is_there(value: object) -> bool:
    return not isinstance(value, Undefined)
