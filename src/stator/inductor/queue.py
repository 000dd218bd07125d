"""CompileQueue: regions are compiled in the background, one at a time, in the order of requests.

Torch's tracing changes classes of torch for a while, for all threads, so a capture and a
compilation wait for each other (`locks.ONE_AT_A_TIME`). The thread ends when there is nothing to
do; a child of a fork starts one of its own. A process that ends waits for the region that is being
compiled, and for no other: Python cannot end while a thread is inside torch.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable

from stator.locks import ONE_AT_A_TIME

Job = Callable[[], None]


class CompileQueue:
    """Jobs, and the thread that does them."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Forget everything: after a fork the thread does not exist."""
        self._changed = threading.Condition()
        self._jobs: deque[Job] = deque()
        self._is_working = False

    def add(self, job: Job) -> None:
        """Do `job` later."""
        with self._changed:
            self._jobs.append(job)
            if not self._is_working:
                self._is_working = True
                threading.Thread(target=self._work, name="stator-compile", daemon=True).start()

    @property
    def left(self) -> int:
        """How many jobs are not done."""
        with self._changed:
            return len(self._jobs) + self._is_working

    def wait(self, timeout: float | None = None, tell: Callable[[int], None] | None = None) -> bool:
        """Wait until there is nothing to do; whether that is so.

        `tell` is called with the number of jobs that are left, after each.
        """
        end = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while self._is_working:
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._changed.wait(left)
                if tell is not None:
                    tell(len(self._jobs) + self._is_working)
        return True

    def close(self) -> None:
        """Forget what waits, and wait for what is being done."""
        with self._changed:
            self._jobs.clear()
        self.wait()

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._jobs:
                    self._is_working = False
                    self._changed.notify_all()
                    return
                job = self._jobs.popleft()
            with ONE_AT_A_TIME:
                job()
            del job  # it may be the last that holds a program
            with self._changed:
                self._changed.notify_all()


QUEUE = CompileQueue()
atexit.register(QUEUE.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=QUEUE.renew)
