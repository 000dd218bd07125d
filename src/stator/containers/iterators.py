"""Iterators: `iter`, `zip`, `map`, `enumerate` and the like are values, and a position is state.

A StagedIterator has the items that it goes through, as a sequence that is read by number, and how
many were taken. A loop over one counts as any loop does, and says afterwards how far it came. Where
the body of the loop takes items of the same iterator, the position itself is carried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import torch

from stator.capture.branches import capture_if
from stator.capture.conditions import Condition, choose, known, raise_if
from stator.capture.conversions import to_int
from stator.capture.journal import Journal
from stator.capture.scope import Scope
from stator.containers.iteration import Indexed
from stator.english import with_article
from stator.errors import DataDependent, StatorError, UnsupportedCall
from stator.state.session import Session
from stator.state.unconverted import watched
from stator.values.annotations import Staged
from stator.values.staged import StagedList
from stator.values.symbolic import Moving, needs_a_value

Instead = Callable[[Exception], BaseException]
MOST = 100_000  # items of a Python iterator that are listed at once


def endless() -> int:
    """The length of what has no end: an error."""
    raise UnsupportedCall("an endless iterator is turned into a list",
                          fix="take only the items you need: `itertools.islice(...)`")  # fmt: skip


class AdvancedInside(BaseException):
    """The body of a loop over an iterator takes items of it."""


class StagedIterator(Moving):
    """An iterator of converted code: `position` items were taken."""

    def __init__(self, session: Session, items: Indexed, cls: type, *, unrolls: bool) -> None:
        self.session, self.items, self.cls = session, items, cls
        self.unrolls = unrolls  # may a loop over it be written out, item by item?
        self._position: Any = 0
        self._taken_if: tuple[Condition, ...] = ()  # one more for each that holds
        self.is_by_number = False  # can an item be read by its number, and nothing else tells?
        self._is_spent: Callable[[], BaseException] | None = (
            None  # only a run knows how far it came
        )

    @property
    def what(self) -> str:  # type: ignore[override]  # of each instance
        """What a message calls it."""
        return self.cls.__name__

    @property
    def is_endless(self) -> bool:
        """Does it never end?"""
        return self.items.length is endless

    @property
    def position(self) -> Any:
        """How many items were taken."""
        if self._is_spent:
            raise self._is_spent()
        recorder = self.session.recorder
        for condition in self._taken_if:
            one = int(condition) if isinstance(condition, bool) else to_int(recorder, condition)
            self._position = self._position + one
        self._taken_if = ()
        return self._position

    def more(self) -> Condition:
        """Is there another item?"""
        return known(self.session.recorder, self.items.more(self.position))

    def moved(self) -> Any:
        """How many items were taken."""
        return self.position

    def take(self) -> Staged:
        """The next item, where there is one."""
        at = self.position
        self.set_position(at + 1)
        return self.items.item(at)

    def set_position(self, position: object) -> None:
        """So many items were taken."""
        self._position = self.position  # a number, before the journal notes it
        self.session.note(self)
        self._position = position

    def taken_where(self, position: object, conditions: tuple[Condition, ...]) -> None:
        """`position` items were taken, and one more for each of `conditions` that holds."""
        self.set_position(position)
        self._taken_if = conditions
        is_new = self.session.provenance.created_since(self.session.recorder.scope)
        if not is_new(self):  # a block around it carries the number
            self._position = self.position

    def put_back(self, position: object, conditions: tuple[Condition, ...]) -> None:
        """Forget what a body has done that is not recorded after all."""
        self._position, self._taken_if = position, conditions

    def expects(self, position: object) -> AbstractContextManager[None]:
        """The code inside may look at the iterator, and must not move it from `position`."""
        return _Expectation(self, position)

    def stream(self) -> Indexed:
        """The rest, as a sequence; taking an item moves the iterator on."""
        return Indexed(lambda _: self.more(), lambda _: self.take(), self._no_length)

    def spend(self, instead: Callable[[], BaseException]) -> Indexed:
        """The rest, as a sequence that is read by number; used again, it raises `instead`."""
        at, items = self.position, self.items
        self._is_spent = instead
        return Indexed(
            lambda k: items.more(at + k), lambda k: items.item(at + k), lambda: items.length() - at
        )

    def given(self) -> tuple[str, Callable[[Any], Any], Any] | None:
        """The rest of a plain iterator over known items, as an iterator over a list."""
        if self.cls is not type(iter([])) or not isinstance(self.position, int):
            return None
        rest = StagedList()
        at = self.position
        while self.items.more(at) is True:
            rest.append(self.items.item(at))
            at += 1
        return self.what, iter, rest

    def _no_length(self) -> int:
        raise TypeError(f"object of type '{self.what}' has no len()")

    def __reduce_ex__(self, _: object) -> Any:
        """It is no object whose attributes can be taken apart."""
        raise needs_a_value("an iterator of the program")

    def __len__(self) -> int:
        return self._no_length()

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        more = self.more()
        if not isinstance(more, bool):
            raise needs_a_value("the remaining items of an iterator")
        if not more:
            raise StopIteration
        return self.take()


class _Expectation(AbstractContextManager[None]):
    """A body of a loop, for which the position of the loop's iterator is known."""

    def __init__(self, iterator: StagedIterator, position: object) -> None:
        self.iterator, self.position = iterator, position

    def __enter__(self) -> None:
        self.iterator.session.note(self.iterator)  # the block puts back what is before it
        self.before = (self.iterator._position, self.iterator._taken_if)
        self.iterator._position, self.iterator._taken_if = self.position, ()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        moved = self.iterator._position is not self.position
        self.iterator._position, self.iterator._taken_if = self.before
        if moved and (kind is None or _is_recorded(kind)):
            raise AdvancedInside


def _is_recorded(kind: type[BaseException]) -> bool:
    """Is it an error of the user's code, which a run raises too?"""
    return issubclass(kind, Exception) and not issubclass(kind, StatorError)


def new_iterator(
    session: Session, items: Indexed, cls: type, *, unrolls: bool = False
) -> StagedIterator:
    """An iterator over `items` that has given none of them."""
    made = StagedIterator(session, items, cls, unrolls=unrolls)
    session.provenance.add_created(made)
    return made


def next_item(session: Session, iterator: StagedIterator, *default: object) -> Staged:
    """`next(iterator, *default)`."""
    more = iterator.more()
    if not default:
        over = not more if isinstance(more, bool) else torch.sym_not(more)
        raise_if(session.recorder, over, StopIteration())
        return iterator.take()
    if isinstance(more, bool):
        return iterator.take() if more else default[0]
    return capture_if(session.recorder, more, iterator.take, lambda: default[0])


def first(session: Session, found: object, *default: object) -> Staged:
    """The item of `found`, which has one or none."""
    some = session.interpreter.compare(session.interpreter.call(len, found), ">", 0)
    if default:
        return choose(
            session.recorder,
            some,
            lambda: session.interpreter.getitem(found, 0),
            lambda: default[0],
        )
    over = not some if isinstance(some, bool) else torch.sym_not(some)
    raise_if(session.recorder, over, StopIteration())
    return session.interpreter.getitem(found, 0)


class PythonItems:
    """The items of an iterator of Python's own, taken as they are needed and kept.

    `code` says that converted code runs when an item is taken: only in the block that it is in.
    """

    def __init__(
        self, session: Session, native: Iterator[Any], instead: Instead, *, code: bool
    ) -> None:
        self.session, self.native, self.code = session, native, code
        self.instead = instead  # what to raise in place of a refusal
        self.items: list[Any] = []
        self.scope: Scope = session.recorder.scope
        self.is_over = False

    def as_indexed(self) -> Indexed:
        """The items as a sequence that is read by number."""
        return Indexed(self._more, self._item, self._length)

    def _more(self, at: Any) -> Staged:
        return at < self._count(at)

    def _item(self, at: object) -> Staged:
        if isinstance(at, int):
            return self.items[at] if at < self._count(at) else None
        self._length()
        return self.session.interpreter.getitem(StagedList(self.items), at)

    def _length(self) -> int:
        return self._count(MOST)

    def _count(self, at: object) -> int:
        """The number of items taken so far, at least so many that there is one at `at`."""
        wanted = at + 1 if isinstance(at, int) else MOST
        while not self.is_over and len(self.items) < wanted:
            self._take()
        if len(self.items) >= MOST:
            raise UnsupportedCall("an iterator that may be endless is turned into a list",
                                  fix="take as many items as you need")  # fmt: skip
        return len(self.items)

    def _take(self) -> None:
        if self.code and self.session.recorder.scope is not self.scope:
            refusal = UnsupportedCall(
                f"items of {with_article(type(self.native).__name__)} from outside this branch or "
                "loop of the program are taken inside it",
                fix="make a list of it first: `list(...)`",
            )  # fmt: skip
            raise self.instead(refusal)
        recorder = self.session.recorder
        journal = recorder.journal = Journal(recorder.journal)
        try:
            with watched(self.session, type(self.native).__name__):
                self.items.append(next(self.native))
        except StopIteration:
            self.is_over = True
        except DataDependent as error:
            raise self.instead(error) from error
        finally:
            journal.keep()
            assert journal.parent is not None
            recorder.journal = journal.parent
        if self.session.takes_ahead and journal.changed():
            refusal = UnsupportedCall(
                f"{with_article(type(self.native).__name__)} that changes an object is left at "
                "a data-dependent item",
                fix="make a list of it first: `list(...)`",
            )  # fmt: skip
            raise self.instead(refusal)
