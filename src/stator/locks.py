"""ForkSafeLock: a reentrant lock that is free in a forked child, even if the parent held it.

A thread that captures in the parent does not exist in the child, so nothing would ever release
what it held: the first capture of a DataLoader worker would wait forever. `waits_at_fork` makes a
fork wait for the lock, so that the child does not see what its holder has changed for a while.

NOTE: `with` takes and gives back the lock in C, as with Python's own locks. In a method written in
Python an interrupt could come between, and the lock would be held for good.
"""

from __future__ import annotations

import _thread
import os
import threading
import weakref
from collections.abc import Callable

_locks: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()


class ForkSafeLock(_thread.RLock):  # type: ignore[misc]  # it may be a base: the stub is wrong
    """A reentrant lock, used as a context manager."""

    def __init__(self) -> None:
        _locks.add(self)

    def renew(self) -> None:
        """Forget who holds it."""
        self._at_fork_reinit()  # type: ignore[attr-defined]  # what `threading` calls in a child

    def waits_at_fork(self, seconds: float, when_held: Callable[[], None]) -> None:
        """A fork waits for the lock, but not forever; after that, `when_held` runs in the child."""
        forking = threading.local()  # several threads may fork at a time

        def before() -> None:
            forking.has_lock = self.acquire(timeout=seconds)

        def in_parent() -> None:
            if forking.has_lock:
                self.release()

        def in_child() -> None:
            if not forking.has_lock:
                when_held()

        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=before, after_in_parent=in_parent, after_in_child=in_child
            )  # fmt: skip


def _renew_all() -> None:
    for lock in list(_locks):
        lock.renew()


ONE_AT_A_TIME = ForkSafeLock()  # captures and compilations: torch's tracing is for one thread

if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_renew_all)
