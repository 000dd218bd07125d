"""for_iterator: a loop over an iterator, which says afterwards how many items it has taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stator.capture.conditions import Condition
from stator.capture.numbers import both
from stator.containers.iteration import Indexed
from stator.containers.iterators import AdvancedInside, StagedIterator
from stator.errors import DataDependent
from stator.staging.recorded_loops import (
    MANY_ITERATIONS,
    capture_sides,
    ends_by_raising,
    for_recorded,
    refuse_endless,
)
from stator.staging.truth import truth
from stator.state.session import Session
from stator.values.annotations import Code, Names, Read, Staged, Write


@dataclass(frozen=True)
class Loop:
    """A `for` statement: what runs for each item, and the names that it assigns."""

    body: Callable[[Staged], Staged]
    goes_on: Code
    read: Read
    write: Write
    names: Names


def for_iterator(session: Session, iterator: StagedIterator, loop: Loop) -> None:
    """Python's own loop as long as Python knows whether there is another iteration."""
    session.decisions.add("for", "python", f"unrolled over a {iterator.what}")
    iterations = 0
    while True:
        condition = _condition(session, iterator, loop)
        if condition is False:
            return
        if condition is not True:
            break
        if ends_by_raising(session, iterations):
            raise DataDependent(
                f"only a data-dependent error ends this loop over a {iterator.what}",
                fix="write `while True:`, and count in it",
            )
        if iterator.is_endless and iterations == MANY_ITERATIONS:
            refuse_endless(session, iterations)
        loop.body(iterator.take())
        iterations += 1
    before = loop.read()
    if not _is_recorded(session, iterator, loop):  # outside of `except`: no context of errors
        loop.write(before)
        _carried(session, iterator, loop)


def _is_recorded(session: Session, iterator: StagedIterator, loop: Loop) -> bool:
    """Record the loop; False if its body takes items of the iterator as well."""
    try:
        at = iterator.position
        if iterator.unrolls and isinstance(at, int) and _more(session, iterator, at) is True:
            _unrolled(session, iterator, loop)
        else:
            _counted(session, iterator, loop)
    except AdvancedInside:
        return False
    return True


def _condition(session: Session, iterator: StagedIterator, loop: Loop) -> Condition:
    """Is there another iteration? Once the loop has ended, no item is taken."""
    goes_on = truth(session, loop.goes_on())
    if goes_on is False:
        return False
    if goes_on is True:
        return iterator.more()
    more = _ahead(session, iterator.more)
    return both(more, goes_on) if more is not True else goes_on


def _unrolled(session: Session, iterator: StagedIterator, loop: Loop) -> None:
    """Iteration by iteration, each under the condition that there is one."""
    start = at = iterator.position
    taken: list[Condition] = []
    condition: Condition = False
    while _more(session, iterator, at) is True:
        condition = truth(session, loop.goes_on())
        if isinstance(condition, bool):
            break
        sides = (_iteration(iterator, loop, at), _nothing, loop.read, loop.write, loop.names)
        try:
            capture_sides(session, condition, *sides)
        except AdvancedInside:
            iterator.put_back(start, tuple(taken))
            raise
        taken.append(condition)
        at += 1
    iterator.taken_where(start, tuple(taken))
    more = _more(session, iterator, at)
    if not isinstance(more, bool) or (condition is True and more):  # a list that has changed
        for_iterator(session, iterator, loop)


def _more(session: Session, iterator: StagedIterator, at: int) -> Condition:
    """Is there an item `at`? This is evaluated before it is known that the iteration exists."""
    return _ahead(session, lambda: iterator.items.more(at))


def _ahead(session: Session, more: Callable[[], Condition]) -> Condition:
    """`more()`, which must change nothing: a run may not come so far."""
    before, session.takes_ahead = session.takes_ahead, True
    try:
        return more()
    finally:
        session.takes_ahead = before


def _iteration(iterator: StagedIterator, loop: Loop, at: Staged) -> Code:
    def iteration() -> None:
        with iterator.expects(at + 1):
            loop.body(iterator.items.item(at))

    return iteration


def _nothing() -> None:
    return None


def _counted(session: Session, iterator: StagedIterator, loop: Loop) -> None:
    """A loop of the program that counts its iterations: the iterator is as far as the count."""
    start, items = iterator.position, iterator.items

    def body(index: Staged) -> None:
        with iterator.expects(start + index + 1):
            loop.body(items.item(start + index))

    def more(index: Staged) -> Condition:
        return _ahead(session, lambda: items.more(start + index))

    places = Indexed(more, lambda k: k, items.length)
    rest = (body, loop.goes_on, loop.read, loop.write, loop.names)
    try:
        iterations = for_recorded(session, places, 0, *rest)
    except AdvancedInside:
        iterator.put_back(start, ())
        raise
    iterator.set_position(start + iterations)


def _carried(session: Session, iterator: StagedIterator, loop: Loop) -> None:
    """A loop of the program that carries the position: its body takes items as well."""
    rest = iterator.stream()
    stream = Indexed(lambda k: _ahead(session, lambda: rest.more(k)), rest.item, rest.length)
    for_recorded(session, stream, 0, loop.body, loop.goes_on, loop.read, loop.write, loop.names)
