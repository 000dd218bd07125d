"""more_frames(): code of the user's may be as deep as Python's limit allows it to be in eager code.

A call of the user's takes several frames of Stator's own, in a capture and in the interpreter. So
the limit is raised meanwhile, and the user's calls are counted and compared with `users_limit`.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from stator.locks import ForkSafeLock

FACTOR = 12  # more frames than one call of the user's takes


class _Limit:
    """The limit that the user has set, while another one holds."""

    def __init__(self) -> None:
        self.lock = ForkSafeLock()
        self.users = 0
        self.holders = 0

    def raise_limit(self) -> None:
        """One more holder; the first one raises the limit."""
        with self.lock:
            if not self.holders:
                self.users = sys.getrecursionlimit()
                sys.setrecursionlimit(self.users * FACTOR)
            self.holders += 1

    def put_back(self) -> None:
        """One less; the last one puts it back, unless someone has set another."""
        with self.lock:
            self.holders -= 1
            if not self.holders and sys.getrecursionlimit() == self.users * FACTOR:
                sys.setrecursionlimit(self.users)


_LIMIT = _Limit()


@contextlib.contextmanager
def more_frames() -> Iterator[None]:
    """Inside, Stator's frames do not count."""
    _LIMIT.raise_limit()
    try:
        yield
    finally:
        _LIMIT.put_back()


def users_limit() -> int:
    """How deep the user's own calls may be."""
    return _LIMIT.users if _LIMIT.holders else sys.getrecursionlimit()
