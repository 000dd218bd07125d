"""DeferredSignals: a signal that arrives inside torch or Stator is handled where it can do no harm.

Ctrl-C raises KeyboardInterrupt wherever Python is. Between two steps with which torch enters or
leaves a mode that would leave the mode on, for the rest of the process. So during a capture a
handler is called at once only if the user's own code runs; otherwise at the next `check`, which
is where an error of the user's could be raised as well. A second signal is not deferred.
"""

from __future__ import annotations

import _weakrefset
import signal
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

from stator.frames import TORCH_FOLDER, is_library_file, is_own_file, within

# they run whenever an object goes, and Python drops what is raised there
CALLBACKS = frozenset((weakref.__file__, _weakrefset.__file__))


class DeferredSignals:
    """A context manager that comes between signals and the handlers of the process."""

    def __init__(self) -> None:
        self._handlers: dict[int, Callable[[int, types.FrameType | None], Any]] = {}
        self._pending: list[int] = []

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # only the main thread handles signals
        for number in signal.valid_signals():
            handler = signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
                signal.signal(number, self._receive)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        for number, handler in self._handlers.items():
            if signal.getsignal(number) == self._receive:
                signal.signal(number, handler)
        self.check()

    def check(self) -> None:
        """Handle what has arrived: an exception may be raised here."""
        if self._pending:
            self._deliver(None)

    def _receive(self, number: int, frame: types.FrameType | None) -> None:
        is_second = number in self._pending
        self._pending.append(number)
        if is_second or not _is_inside(frame):
            self._deliver(frame)

    def _deliver(self, frame: types.FrameType | None) -> None:
        pending, self._pending = self._pending, []
        for number in dict.fromkeys(pending):
            self._handlers[number](number, frame)


def _is_inside(frame: types.FrameType | None) -> bool:
    """Does torch or Stator run, or a library that they have called?"""
    while frame is not None:
        file = frame.f_code.co_filename
        if is_own_file(file) or within(file, (TORCH_FOLDER,)) or file in CALLBACKS:
            return True
        if not is_library_file(file):
            return False
        frame = frame.f_back
    return False
