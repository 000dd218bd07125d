"""with_stmt: a manager that users write is entered and left through staging.

Torch's own managers, and others of libraries, run as they are: they look at no exception. A
generator behind `@contextmanager` is converted, and runs the body of the `with` at its `yield`.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import torch

from stator.capture.branches import capture_if
from stator.capture.places import is_library_file
from stator.capture.values import CaughtError, CaughtType
from stator.staging.attempts import reraise, try_stmt
from stator.staging.control_flow import Names, Read, Write, for_stmt
from stator.staging.protocols import user_method
from stator.staging.session import Session

Body = Callable[[Any], Any]


def with_stmt(
    session: Session, manager: Any, body: Body, read: Read, write: Write, names: Names
) -> None:
    """`with manager as value: body(value)`."""
    if isinstance(manager, contextlib._GeneratorContextManager) and _is_users(manager.func):
        generator = session.call(manager.func, *manager.args, **manager.kwds)
        for_stmt(session, generator, body, None, read, write, names)
    elif isinstance(manager, contextlib.suppress):
        classes: Any = manager._exceptions  # type: ignore[attr-defined]
        clause = (lambda: classes, _swallow)
        try_stmt(session, lambda: body(None), (clause,), _nothing, read, write, names)
    elif user_method(manager, "__exit__") is not None:
        _with_users(session, manager, body, read, write, names)
    else:
        with manager as value:
            body(value)


class FollowedAutocast(torch.autocast):
    """Autocast; at its end torch forgets the weights that it has cast, and so does the program."""

    def __init__(self, session: Session, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.session = session

    def __exit__(self, *error: Any) -> Any:
        result = super().__exit__(*error)
        self.session.recorder.follow_modes()
        return result


def _with_users(
    session: Session, manager: Any, body: Body, read: Read, write: Write, names: Names
) -> None:
    """A manager whose `__exit__` a user wrote."""
    enter = user_method(manager, "__enter__")
    value = manager.__enter__() if enter is None else session.call(enter, manager)
    leave = functools.partial(_leave, session, manager)
    try_stmt(
        session, lambda: body(value), ((_everything, leave),), lambda: leave(None),
        read, write, names,
    )  # fmt: skip


def _leave(session: Session, manager: Any, error: Any) -> None:
    """Call `__exit__`; an exception that it does not swallow goes on."""
    swallowed = session.call(user_method(manager, "__exit__"), manager, *_about(error))
    if error is None:
        return
    condition = session.truth(swallowed)
    if condition is False:
        raise_again(session, error)
    if condition is not True:
        capture_if(session.recorder, condition, _nothing, lambda: raise_again(session, error))


def _about(error: Any) -> tuple[Any, Any, Any]:
    """What `__exit__` is told."""
    if error is None:
        return (None, None, None)
    if isinstance(error, CaughtError):
        return (CaughtType(error), error, None)
    return (type(error), error, error.__traceback__)


def finally_stmt(
    session: Session,
    body: Callable[[], Any],
    final: Callable[[], Any],
    read: Read,
    write: Write,
    names: Names,
) -> None:
    """`try: body finally: final`."""

    def handle(error: Any) -> None:
        final()
        raise_again(session, error)

    clause = (_everything, handle)
    try_stmt(session, body, (clause,), final, read, write, names, is_finally=True)


def raise_again(session: Session, error: Any) -> None:
    """Let an exception that was caught go on."""
    if isinstance(error, CaughtError):
        reraise(session)
    raise error


def _is_users(function: Any) -> bool:
    return not is_library_file(function.__code__.co_filename)


def _everything() -> None:
    """The classes of an `except:`."""
    return


def _swallow(_error: Any) -> None:
    return None


def _nothing() -> None:
    return None
