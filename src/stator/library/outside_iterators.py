"""Iterators of the caller's: a program cannot advance one.

The capture would take its items, and every run would use those again; the caller's own position
would move once, not at every call. So every place that takes items of a value asks here first.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator

from stator.errors import UnsupportedCall
from stator.frames import current_place
from stator.library.user_methods import user_method
from stator.state.session import Session
from stator.values.staged import StagedList


def refuse_outside_iterator(session: Session, value: object) -> None:
    """Raise where `value`, whose items are about to be taken, is an iterator of the caller's.

    One whose `__next__` a user wrote in Python is converted: its attributes are its position.
    So is an iterator refused that a recorded loop has left at an item that only a run knows.
    """
    if id(value) in session.spent_iterators:
        raise UnsupportedCall(
            "the rest of an iterator is used after a loop or a search that took some of its items: "
            "only a run knows how many",
            at=current_place(), fix="make a list of it, and use indices",
        )  # fmt: skip
    if (
        isinstance(value, Iterator)
        and session.provenance.is_external(value)
        and user_method(value, "__next__") is None
    ):
        raise UnsupportedCall(
            f"items of a {type(value).__name__} of the caller's are taken: only the capture would "
            "take them, and no later call",
            at=current_place(), fix="make a list of it before the call",
        )  # fmt: skip


def spend(session: Session, value: object, *, whole: bool) -> None:
    """Items of `value` were taken: all of them, or as many as a run takes.

    What `map` gives is a list here, which would give its items again.
    """
    is_mapped = id(value) in session.mapped
    if is_mapped or (isinstance(value, Iterator) and not whole):
        session.spent_iterators[id(value)] = value


def of_map(session: Session, items: StagedList) -> StagedList:
    """What `map` gives: `items`, which can be used once."""
    session.mapped[id(items)] = items
    return items


@contextlib.contextmanager
def taking(session: Session, values: tuple[object, ...]) -> Iterator[None]:
    """The code inside takes the items of each of `values`."""
    for value in values:
        refuse_outside_iterator(session, value)
    yield
    for value in values:
        spend(session, value, whole=True)


def refuse_in_arguments(session: Session, args: tuple[object, ...]) -> None:
    """The same for the arguments of library code, which may take items of any of them.

    Files are not looked at: what is read from them and written to them has rules of its own.
    """
    for arg in args:
        if isinstance(arg, list | tuple):
            refuse_in_arguments(
                session, tuple(list.__iter__(arg) if isinstance(arg, list) else arg)
            )
        elif not isinstance(arg, io.IOBase):
            refuse_outside_iterator(session, arg)
