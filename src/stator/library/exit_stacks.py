"""`contextlib.ExitStack`: what a stack calls at the end is part of the program, or refused.

A `with` statement leaves its stack through staging (`staging/with_stmt.py`). Code of the library
that calls the callbacks itself would call them at the capture alone.
"""

from __future__ import annotations

import contextlib
from typing import Any

from stator.errors import UnsupportedCall
from stator.frames import is_library_file
from stator.library.user_methods import user_method
from stator.state.session import Session


def note_stack(session: Session, stack: Any, method: str) -> None:
    """Library code calls `method` of a stack, which may add to what it calls at the end."""
    if method in ("close", "__exit__") and is_seen(stack):
        raise UnsupportedCall(f"`{method}` is called on an ExitStack with callbacks",
                              fix="use it in a `with` statement")  # fmt: skip
    session.provenance.add_part(stack._exit_callbacks, stack)
    session.note(stack._exit_callbacks)


def is_seen(stack: Any) -> bool:
    """Has it a callback, or a manager that a user wrote?"""
    return any(is_users(callback) for _, callback in stack._exit_callbacks)


def is_users(callback: Any) -> bool:
    """Is it a callback, or of a manager that a user wrote?"""
    manager = getattr(callback, "__self__", None)
    if isinstance(manager, contextlib._GeneratorContextManager):
        code = manager.gen.gi_code  # type: ignore[attr-defined]
        return not is_library_file(code.co_filename)
    return manager is None or user_method(manager, "__exit__") is not None


def refused_stack() -> UnsupportedCall:
    """The error for a stack whose callbacks a run might have to call early."""
    return UnsupportedCall(
        "an exception may leave the `with` block of an ExitStack",
        fix="write its managers as `with` statements, and its callbacks as `finally`",
    )
