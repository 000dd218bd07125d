"""load_parts(): what torch imports when it is first traced, where nothing can interrupt that.

The first capture of a process makes torch import `torch._dynamo` and hundreds of modules with it.
An exception that another thread puts into the capturing one (`PyThreadState_SetAsyncExc`, as a time
limit does) would end that import halfway. Python drops the module whose import failed, and keeps
those inside that were done: the next import finds a half of torch, and no capture works any more.
Such an exception goes to one thread. So another one imports, and this one waits for it.
"""

from __future__ import annotations

import contextlib
import importlib
import threading

PARTS = ("torch.fx.experimental.validator", "torch._dynamo")


class _Progress:
    is_done = False


def load_parts() -> None:
    """Wait until the parts of torch that a capture needs are imported."""
    if _Progress.is_done:
        return
    thread = threading.Thread(target=_load, name="stator-imports")
    try:
        thread.start()
    except RuntimeError:  # the interpreter is about to end, and starts no threads any more
        _load()
    else:
        thread.join()


def _load() -> None:
    with contextlib.suppress(Exception):  # the capture meets it again, and says what is wrong
        for name in PARTS:
            importlib.import_module(name)
        _Progress.is_done = True
