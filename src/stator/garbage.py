"""Less of the garbage collector: fewer_collections() for captures, no_collections() for moments.

A capture makes trees, fake tensors and sizes by the hundred thousand, and nearly all of them go
without the collector. With Python's own threshold it would look through them, and through every
module that is loaded, dozens of times: up to a third of the time that a capture takes.
"""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from collections.abc import Iterator

OBJECTS = 100_000  # new ones, before the collector runs


class _Threshold:
    """The threshold that the user has set, while another one holds."""

    def __init__(self) -> None:
        self.users: tuple[int, int, int] | None = None
        self.inside = 0  # of threads, and of contexts inside others
        self.lock = threading.Lock()

    def enter(self) -> None:
        """Raise it, unless it is raised, or the user has switched the collector off."""
        with self.lock:
            self.inside += 1
            users = gc.get_threshold()
            if self.inside == 1 and users[0] != 0:
                self.users = users
                gc.set_threshold(*_raised(users))

    def leave(self) -> None:
        """The user's threshold, if no one else is inside."""
        with self.lock:
            self.inside = max(0, self.inside - 1)  # 0 already in a child that was forked inside
            if self.inside == 0:
                self._put_back()

    def renew(self) -> None:
        """No one is inside: the threads of the parent are not in a child."""
        self.lock, self.inside = threading.Lock(), 0
        self._put_back()

    def _put_back(self) -> None:
        users, self.users = self.users, None
        if users is not None and gc.get_threshold() == _raised(users):  # no one has set another
            gc.set_threshold(*users)


class _Switch:
    """Whether the user has the collector on, while it is off."""

    def __init__(self) -> None:
        self.was_on = False
        self.inside = 0  # of threads, and of contexts inside others
        self.lock = threading.Lock()

    def enter(self) -> None:
        """Switch it off."""
        with self.lock:
            self.inside += 1
            if self.inside == 1:
                self.was_on = gc.isenabled()
            gc.disable()

    def leave(self) -> None:
        """As the user had it, if no one else is inside."""
        with self.lock:
            self.inside = max(0, self.inside - 1)  # 0 already in a child that was forked inside
            if self.inside == 0 and self.was_on:
                gc.enable()

    def renew(self) -> None:
        """No one is inside: the threads of the parent are not in a child."""
        if self.inside and self.was_on:
            gc.enable()
        self.lock, self.inside = threading.Lock(), 0


_THRESHOLD, _SWITCH = _Threshold(), _Switch()


def _raised(users: tuple[int, int, int]) -> tuple[int, int, int]:
    return max(OBJECTS, users[0]), *users[1:]


@contextlib.contextmanager
def fewer_collections() -> Iterator[None]:
    """Inside, the collector runs once for so many new objects."""
    _THRESHOLD.enter()
    try:
        yield
    finally:
        _THRESHOLD.leave()


@contextlib.contextmanager
def no_collections() -> Iterator[None]:
    """Inside, no cycle is collected: a finalizer would run where nothing expects it."""
    _SWITCH.enter()
    try:
        yield
    finally:
        _SWITCH.leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_THRESHOLD.renew)
    os.register_at_fork(after_in_child=_SWITCH.renew)
