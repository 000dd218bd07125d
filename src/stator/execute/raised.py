"""raised_error(): an exception of the interpreter's as the data that an outcome has."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from stator.errors import SizeCheckFailed, StatorError
from stator.execute.backend import NOTHING, RaisedError
from stator.execute.effects import UserException, without_wrappers
from stator.execute.steps import RunState
from stator.values.exceptions import KnownExceptions

NOTE = "  in the program"  # how the note with the place of an op begins


def raised_error(error: Exception, state: RunState, *, before_running: bool = False) -> RaisedError:
    """`error` as data, with what the run had done by then."""
    classes: tuple[str, ...] = ()
    fields: Mapping[str, object] = NOTHING
    if isinstance(error, UserException):
        classes, fields = error.classes, error.fields
    context = _context(error, state)
    plain = without_wrappers(error)
    if context is not None:
        plain.__context__ = None  # `RaisedError.exception` sets it
    if isinstance(plain, SizeCheckFailed):
        plain.before_running = before_running
    place = plain.at if isinstance(plain, StatorError) else state.place
    return RaisedError(
        type(plain).__name__, plain.args, classes, fields,
        place=place, effects=state.effects, before_running=before_running, error=plain,
        context=context,
    )  # fmt: skip


def _context(error: Exception, state: RunState) -> RaisedError | None:
    """What a handler of this run had caught when `error` was raised."""
    found = error.__context__
    while found is not None and not any(found is one for one in state.handled):
        found = found.__context__
    return raised_error(found, state) if isinstance(found, Exception) else None


def caught_error(known: KnownExceptions) -> Exception | None:
    """What the handler that runs now has caught, as user code knows it."""
    error = sys.exc_info()[1]
    if not isinstance(error, Exception):
        return None
    return raised_error(error, RunState({}, {}, ())).exception(known)
