"""fewer_collections(): the garbage collector runs seldom while a capture makes its many objects.

A capture makes trees, fake tensors and sizes by the hundred thousand, and nearly all of them go
without the collector. With Python's own threshold it would look through them, and through every
module that is loaded, dozens of times: up to a third of the time that a capture takes.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterator

OBJECTS = 100_000  # new ones, before the collector runs


class _Threshold:
    """The threshold that the user has set, while another one holds."""

    def __init__(self) -> None:
        self.users: tuple[int, int, int] | None = None

    def put_back(self) -> None:
        """The user's threshold, unless someone has set another meanwhile."""
        users, self.users = self.users, None
        if users is not None and gc.get_threshold() == _raised(users):
            gc.set_threshold(*users)


_THRESHOLD = _Threshold()


def _raised(users: tuple[int, int, int]) -> tuple[int, int, int]:
    return max(OBJECTS, users[0]), *users[1:]


@contextlib.contextmanager
def fewer_collections() -> Iterator[None]:
    """Inside, the collector runs once for so many new objects; one thread at a time may ask."""
    users = gc.get_threshold()
    if _THRESHOLD.users is not None or users[0] == 0:  # inside of another, or switched off
        yield
        return
    _THRESHOLD.users = users
    gc.set_threshold(*_raised(users))
    try:
        yield
    finally:
        _THRESHOLD.put_back()


if hasattr(os, "register_at_fork"):  # the thread that captures is not in the child
    os.register_at_fork(after_in_child=_THRESHOLD.put_back)
