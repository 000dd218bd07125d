"""with_stmt: a manager that users write is entered and left through staging.

Torch's own managers, and others of libraries, run as they are: they look at no exception. A
generator behind `@contextmanager` is converted, and runs the body of the `with` at its `yield`.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from stator.capture.blocks import TryNeeded
from stator.capture.branches import capture_if
from stator.errors import StatorError
from stator.frames import is_library_file
from stator.library.exit_stacks import is_seen, is_users, refused_stack
from stator.library.host_rules import HostMethod
from stator.library.user_methods import user_method
from stator.library.warning_filters import entered
from stator.staging.control_flow import for_stmt
from stator.staging.truth import truth
from stator.staging.try_stmt import may_raise_since, reraise, try_stmt
from stator.state.session import Session
from stator.values.annotations import Names, Read, Staged, Write
from stator.values.symbolic import CaughtError, CaughtType, HostObject

Body = Callable[[Staged], Staged]


def with_stmt(
    session: Session, manager: Staged, body: Body, read: Read, write: Write, names: Names
) -> None:
    """`with manager as value: body(value)`."""
    if isinstance(manager, contextlib._GeneratorContextManager) and _is_users(manager.func):
        generator = session.interpreter.call(manager.func, *manager.args, **manager.kwds)
        for_stmt(session, generator, body, None, read, write, names)
    elif isinstance(manager, contextlib.suppress):
        classes: Any = manager._exceptions  # type: ignore[attr-defined]
        clause = (lambda: classes, _swallow)
        try_stmt(session, lambda: body(None), (clause,), _nothing, read, write, names)
    elif isinstance(manager, HostObject):
        _with_host(session, manager, body, read, write, names)
    elif user_method(manager, "__exit__") is not None:
        _with_users(session, manager, body, read, write, names)
    elif isinstance(manager, contextlib.ExitStack):
        _with_stack(session, manager, body)
    else:
        with entered(session, manager) as value, session.recorder.under(manager):
            body(value)


def _with_stack(session: Session, stack: Any, body: Body) -> None:
    """An ExitStack: what it calls at the end is called as any code of the program is.

    That is known where the body ends well. Managers of libraries are left however it ends.
    """
    mark = session.recorder.mark()
    try:
        body(stack)
        while stack._exit_callbacks:
            if is_seen(stack) and may_raise_since(session, mark):
                raise refused_stack()
            _leave_one(session, stack._exit_callbacks.pop()[1])
    except BaseException as error:
        seen = [entry for entry in stack._exit_callbacks if is_users(entry[1])]
        for entry in seen:
            stack._exit_callbacks.remove(entry)
        swallowed = stack.__exit__(type(error), error, error.__traceback__)
        if seen and not isinstance(error, StatorError | TryNeeded):
            raise refused_stack() from error
        if not swallowed:
            raise


def _leave_one(session: Session, callback: Any) -> None:
    manager = getattr(callback, "__self__", None)
    leave = None if manager is None else user_method(manager, "__exit__")
    if leave is not None:
        session.interpreter.call_method(leave, manager, None, None, None)
    elif manager is None and hasattr(callback, "__wrapped__"):  # of `stack.callback(...)`
        held = dict(zip(callback.__code__.co_freevars, callback.__closure__, strict=True))
        args, kwargs = held["args"].cell_contents, held["kwds"].cell_contents
        session.interpreter.call(held["callback"].cell_contents, *args, **kwargs)
    elif manager is None:  # of `stack.push(function)`
        session.interpreter.call(callback, None, None, None)
    else:
        callback(None, None, None)


def _with_host(
    session: Session, manager: HostObject, body: Body, read: Read, write: Write, names: Names
) -> None:
    """A file that each run opens: it is closed however the body ends."""
    value = session.interpreter.call(HostMethod(manager, "__enter__"))
    leave = HostMethod(manager, "__exit__")
    finally_stmt(
        session, lambda: body(value), lambda: session.interpreter.call(leave, None, None, None),
        read, write, names,
    )  # fmt: skip


def _with_users(
    session: Session, manager: Staged, body: Body, read: Read, write: Write, names: Names
) -> None:
    """A manager whose `__exit__` a user wrote."""
    enter = user_method(manager, "__enter__")
    value = (
        manager.__enter__() if enter is None else session.interpreter.call_method(enter, manager)
    )
    leave = functools.partial(_leave, session, manager)
    try_stmt(
        session, lambda: body(value), ((_everything, leave),), lambda: leave(None),
        read, write, names,
    )  # fmt: skip


def _leave(session: Session, manager: object, error: object) -> None:
    """Call `__exit__`; an exception that it does not swallow goes on."""
    swallowed = session.interpreter.call_method(
        user_method(manager, "__exit__"), manager, *_exit_arguments(error)
    )
    if error is None:
        return
    condition = truth(session, swallowed)
    if condition is False:
        raise_again(session, error)
    if condition is not True:
        capture_if(session.recorder, condition, _nothing, lambda: raise_again(session, error))


def _exit_arguments(error: Staged) -> tuple[Staged, Staged, Staged]:
    """The (type, value, traceback) passed to `__exit__`."""
    if error is None:
        return (None, None, None)
    if isinstance(error, CaughtError):
        return (CaughtType(error), error, None)
    return (type(error), error, error.__traceback__)


def finally_stmt(
    session: Session,
    body: Callable[[], Staged],
    final: Callable[[], Staged],
    read: Read,
    write: Write,
    names: Names,
) -> None:
    """`try: body finally: final`."""

    def handle(error: object) -> None:
        final()
        raise_again(session, error)

    clause = (_everything, handle)
    try_stmt(session, body, (clause,), final, read, write, names, is_finally=True)


def raise_again(session: Session, error: Staged) -> None:
    """Let an exception that was caught go on."""
    if isinstance(error, CaughtError):
        reraise(session, error)
    raise error


def _is_users(function: Staged) -> bool:
    return not is_library_file(function.__code__.co_filename)


def _everything() -> None:
    """The classes of an `except:`."""
    return


def _swallow(_error: object) -> None:
    return None


def _nothing() -> None:
    return None
