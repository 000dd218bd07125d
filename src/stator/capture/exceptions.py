"""ExceptionTable: the exceptions that a program may raise, and what Python keeps of them.

What was being handled when an exception was raised is its `__context__`. During a capture Python
also sets it for what Stator and torch catch inside, which is no exception of the user's program.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from stator.capture.errors.capture_artifacts import users_text
from stator.frames import is_machinery_file
from stator.program.structure import Structure
from stator.values.exceptions import CaughtCause, ExceptionParts, KnownExceptions, parts_of
from stator.values.symbolic import CaughtError


def _itself(value: Any) -> Any:
    return value


@dataclass
class ExceptionTable:
    """What one capture knows of the exceptions that its program raises."""

    classes: dict[str, type] = field(default_factory=dict)  # that users wrote, by name
    forms: list[Structure] = field(default_factory=list)  # of whole exceptions
    records: dict[str, type] = field(default_factory=dict)  # the classes of records in the forms
    handled: list[BaseException] = field(default_factory=list)  # by handlers that users wrote
    replaced: list[BaseException] = field(default_factory=list)  # by another one of the capture
    original: Callable[[Any], Any] = _itself  # a stand-in -> the caller's container
    text_of: Callable[[Any], Any] = str  # in converted code
    arguments: tuple[Any, ...] | None = None  # of the exception whose raise is being recorded
    caught: list[CaughtError] = field(default_factory=list)  # by the handlers that are recorded now
    # what the caller is handling: each run has its own
    outer: BaseException | None = field(default_factory=lambda: sys.exc_info()[1])

    def known(self) -> KnownExceptions:
        """What a run that raises needs of it."""
        return KnownExceptions(self.classes, tuple(self.forms), self.records)

    def parts_of(self, error: BaseException) -> ExceptionParts:
        """The parts of `error` that it has in eager code as well."""
        parts = parts_of(error, self._users(error.__context__))
        if not _is_raised_inside(error):
            return parts._replace(cause=self._users(parts.cause))
        args = tuple(users_text(arg) if isinstance(arg, str) else arg for arg in parts.args)
        return parts._replace(args=args, cause=None, suppresses=False)

    def _users(self, error: BaseException | None) -> BaseException | None:
        """`error`, or the next of its contexts, if it is an exception of the user's program."""
        while error is not None and error is not self.outer and not self._is_users(error):
            error = error.__context__
        return None if error is self.outer else error

    def _is_users(self, error: BaseException) -> bool:
        if any(error is one for one in self.replaced):
            return False
        if isinstance(error, CaughtCause) or any(error is one for one in self.handled):
            return True
        return isinstance(error, Exception) and not _is_raised_inside(error)


def _is_raised_inside(error: BaseException) -> bool:
    """Is it code of Stator or torch that raised it?"""
    trace: types.TracebackType | None = error.__traceback__
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    return is_machinery_file(trace.tb_frame.f_code.co_filename)
