"""Operators and methods of Counters: by definitions in Python, which are converted."""

from __future__ import annotations

import collections
from collections.abc import Callable

from stator.containers import counter_definitions as written
from stator.state.session import Session
from stator.values.annotations import Staged
from stator.values.staged import StagedCounter

COUNTERS = (StagedCounter, collections.Counter)
COMBINED: dict[str, Callable[..., None]] = {
    "+": written.added, "-": written.subtracted, "|": written.greater, "&": written.lesser,
}  # fmt: skip
UNARY = {"+": written.added, "-": written.subtracted}


def are_counters(left: object, right: object) -> bool:
    """Are both Counters?"""
    return isinstance(left, COUNTERS) and isinstance(right, COUNTERS)


def new_counter(session: Session, *args: Staged, **counts: Staged) -> StagedCounter:
    """`Counter(items)`."""
    if len(args) > 1:
        collections.Counter(*args)  # Python's error
    made = StagedCounter()
    session.provenance.add_created(made)
    METHODS["update"](session, made, *args, **counts)
    return made


def _empty(session: Session, *like: Staged) -> Staged:
    if any(isinstance(counter, StagedCounter) for counter in like):
        return new_counter(session)
    return session.interpreter.call(collections.Counter)


def combined(session: Session, left: Staged, sign: str, right: Staged) -> Staged:
    """`left SIGN right`."""
    made = _empty(session, left, right)
    session.interpreter.run(COMBINED[sign], made, left, right)
    return made


def augmented(session: Session, left: Staged, sign: str, right: Staged) -> Staged:
    """`left SIGN= right`: the Counter itself has what the operator gives."""
    made = combined(session, left, sign, right)
    session.interpreter.call(left.clear)
    session.interpreter.run(written.increased, left, made)
    return left


def signed(session: Session, sign: str, counter: Staged) -> Staged:
    """`+counter` or `-counter`: the positive, or the negative counts."""
    made, empty = _empty(session, counter), _empty(session, counter)
    left, right = (counter, empty) if sign == "+" else (empty, counter)
    session.interpreter.run(UNARY[sign], made, left, right)
    return made


def _copy(session: Session, counter: Staged) -> StagedCounter:
    return new_counter(session, counter)


def _by(definition: Callable[..., Staged]) -> Callable[..., Staged]:
    """The method that `definition` is."""

    def method(session: Session, counter: Staged, *args: Staged, **counts: Staged) -> Staged:
        return session.interpreter.call(definition, counter, *args, **counts)

    return method


METHODS: dict[str, Callable[..., Staged]] = {
    "copy": _copy, "update": _by(written.update), "subtract": _by(written.subtract),
    "most_common": _by(written.most_common), "elements": _by(written.elements),
    "total": _by(written.total),
}  # fmt: skip
