"""BorrowedSetting: a setting of the process that Stator changes for a while."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Generic, TypeVar

from stator.locks import ForkSafeLock

Setting = TypeVar("Setting")


class BorrowedSetting(contextlib.ContextDecorator, Generic[Setting]):
    """Changes a setting while someone is inside, in any thread; what the user sets then stays."""

    def __init__(
        self,
        read: Callable[[], Setting],
        write: Callable[[Setting], object],
        change: Callable[[Setting], Setting],
    ) -> None:
        self._read, self._write, self._change = read, write, change
        self._users: tuple[Setting] | None = None
        self._inside = 0  # of threads, and of contexts inside others
        self._lock = ForkSafeLock()

    @property
    def users(self) -> Setting:
        """What the user has set."""
        held = self._users
        return self._read() if held is None else held[0]

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._users = (self._read(),)
                self._write(self._change(self._users[0]))

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside = max(0, self._inside - 1)  # 0 already in a child that was forked inside
            if self._inside == 0:
                self._put_back()

    def renew(self) -> None:
        """No one is inside: the threads of the parent are not in a child."""
        self._inside = 0
        self._put_back()

    def _put_back(self) -> None:
        held, self._users = self._users, None
        if held is not None and self._read() == self._change(held[0]):
            self._write(held[0])
