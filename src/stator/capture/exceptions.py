"""ExceptionTable: the exceptions that a program may raise, and what Python keeps of them.

What was being handled when an exception was raised is its `__context__`. During a capture Python
also sets it for what Stator and torch catch inside, which is no exception of the user's program.
"""

from __future__ import annotations

import enum
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from stator.capture.errors.capture_artifacts import users_text
from stator.errors import UnsupportedCall
from stator.frames import is_machinery_file
from stator.program.structure import Structure
from stator.values.exceptions import (
    CaughtCause,
    ExceptionParts,
    KnownExceptions,
    exception_of,
    link,
    parts_of,
)
from stator.values.symbolic import CaughtError, Undefined, refused_exception
from stator.values.union import Symbolic

PLAIN = (torch.Tensor, Symbolic, bool, int, float, complex, str, bytes, type(None), type, enum.Enum)


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
    of_users: list[BaseException] = field(default_factory=list)  # raised by staging for the user
    # raised while a recorded handler runs: in a run, what it has caught is their context
    with_caught_context: list[BaseException] = field(default_factory=list)
    original: Callable[[Any], Any] = _itself  # a stand-in -> the caller's container
    text_of: Callable[[Any], Any] = str  # in converted code
    arguments: tuple[Any, ...] | None = None  # of the exception whose raise is being recorded
    raised: BaseException | None = None  # that exception itself
    caught: list[CaughtError] = field(default_factory=list)  # by the handlers that are recorded now
    # what the caller is handling: each run has its own
    outer: BaseException | None = field(default_factory=lambda: sys.exc_info()[1])

    def known(self) -> KnownExceptions:
        """What a run that raises needs of it."""
        return KnownExceptions(self.classes, tuple(self.forms), self.records)

    def parts_of(self, error: BaseException) -> ExceptionParts:
        """The parts of `error` that it has in eager code as well."""
        parts = parts_of(error, self._users(error.__context__))
        if not self._is_raised_inside(error):
            return parts._replace(cause=self._users(parts.cause))
        args = tuple(users_text(arg) if isinstance(arg, str) else arg for arg in parts.args)
        return parts._replace(args=args, cause=None, suppresses=False)

    def attribute(self, name: str) -> Any:
        """An attribute of the exception whose raise is being recorded: its own, or its class's."""
        assert self.raised is not None
        parts = self.parts_of(self.raised)
        for table in (parts.fields, parts.members):
            if name in table:
                return _plain(table[name], name)
        for cls in type(self.raised).__mro__:
            if name in vars(cls):
                found = vars(cls)[name]
                is_member = isinstance(found, types.MemberDescriptorType)
                return _plain(getattr(self.raised, name) if is_member else found, name)
        return Undefined(name)

    def whole(self, handled: BaseException | None) -> BaseException:
        """A copy of the exception whose raise is being recorded, for the handler that catches it.

        It is raised while `handled` is.
        """
        if self.raised is None:
            raise refused_exception()
        parts = self.parts_of(self.raised)
        args = (("args", value) for value in parts.args)
        for name, value in (*args, *parts.fields.items(), *parts.members.items()):
            _plain(value, name)
        made = exception_of(type(self.raised), parts)
        link(made, handled)
        return made

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
        return isinstance(error, Exception) and not self._is_raised_inside(error)

    def _is_raised_inside(self, error: BaseException) -> bool:
        """Is it code of Stator or torch that raised it, and not for a `raise` of the user's?"""
        return _ends_inside(error) and not any(error is one for one in self.of_users)


def _plain(value: object, name: str) -> object:
    """An attribute that a run can give a handler: no code computes it, and no one changes it."""
    parts = value if type(value) is tuple else (value,)
    if not all(isinstance(one, PLAIN) for one in parts):
        raise UnsupportedCall(
            f"`.{name}` of a caught exception is not a tensor, number, string or tuple of these: a "
            "handler would have a copy of it",
            fix="keep the value in a variable outside of the `try`",
        )  # fmt: skip
    return value


def _ends_inside(error: BaseException) -> bool:
    trace: types.TracebackType | None = error.__traceback__
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    return is_machinery_file(trace.tb_frame.f_code.co_filename)
