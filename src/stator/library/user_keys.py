"""check_keys(): `__hash__` and `__eq__` that users wrote must change nothing, and print nothing.

Dicts, sets and lists call them as they are, and a capture does so more often than eager code: when
it undoes a branch, or checks a guard. So each class is tried once, and refused if that changes
anything.
"""

from __future__ import annotations

import contextlib
import io

from stator.errors import UnsupportedCall
from stator.library.user_methods import user_method
from stator.state.session import Session
from stator.state.unconverted import UserCodeWatch


def check_keys(session: Session, *keys: object) -> None:
    """An error if comparing one of `keys`, or asking for its hash, changes something."""
    for key in keys:
        if isinstance(key, tuple):
            check_keys(session, *tuple.__iter__(key))  # not by methods of the user
        elif type(key) not in session.checked_keys:
            session.checked_keys.add(type(key))
            _check(session, key, "__hash__", "hash")
            _check(session, key, "__eq__", "==")


def _check(session: Session, key: object, method: str, name: str) -> None:
    written = user_method(key, method)
    if written is None:
        return
    watch = UserCodeWatch(session)
    watch.add(key)
    watch.add(type(key))
    given = () if method == "__hash__" else (key,)
    said = io.StringIO()
    with (
        watch,
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
        contextlib.suppress(Exception),  # whatever it raises, the lookup raises as well
    ):
        written(key, *given)
    watch.check(name)
    if said.getvalue():
        raise UnsupportedCall(
            f"`{type(key).__name__}.{method}` prints, and a capture calls it more often than "
            "eager code",
            fix="print elsewhere",
        )  # fmt: skip
