"""load_parts(): what torch imports when it is first traced, where nothing can interrupt that.

The first capture of a process makes torch import `torch._dynamo` and hundreds of modules with it.
An exception that another thread puts into the capturing one (`PyThreadState_SetAsyncExc`, as a time
limit does) would end that import halfway. Python drops the module whose import failed, and keeps
those inside that were done: the next import finds a half of torch, and no capture works any more.
Such an exception goes to one thread. So another one imports, and this one waits for it.

NOTE: why not `threading.Thread`. Until a new thread runs, it goes by the number of the one that
starts it, so the exception may arrive there, before its first line; `Thread.start` then waits for
ever. Here the end of the thread is seen by what it holds, whether it has run or not.
"""

from __future__ import annotations

import _thread
import contextlib
import importlib
import threading

PARTS = ("torch.fx.experimental.validator", "torch._dynamo")


class _Progress:
    is_done = False


class _Lifetime:
    """What the importing thread holds as long as it lives."""

    def __init__(self, ended: threading.Event) -> None:
        self._ended = ended

    def end(self) -> None:
        """Say so at once: modules that are imported may keep the frames that import them."""
        self._ended.set()

    def __del__(self) -> None:
        self._ended.set()


def load_parts() -> None:
    """Wait until the parts of torch that a capture needs are imported."""
    if _Progress.is_done:
        return
    ended, began = threading.Event(), threading.Event()
    try:
        _thread.start_new_thread(_load, (began, _Lifetime(ended)))
    except RuntimeError:  # the interpreter is about to end, and starts no threads any more
        _load(began)
    else:
        ended.wait()
    if not began.is_set():  # an exception for this thread has ended the other one
        load_parts()


def _load(began: threading.Event, *held: _Lifetime) -> None:
    began.set()
    try:
        with contextlib.suppress(Exception):  # the capture meets it again, and says what is wrong
            for name in PARTS:
                importlib.import_module(name)
            _Progress.is_done = True
    finally:
        for lifetime in held:
            lifetime.end()
