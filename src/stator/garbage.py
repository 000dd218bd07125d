"""Less of the garbage collector: fewer_collections() for captures, no_collections() for moments.

A capture makes trees, fake tensors and sizes by the hundred thousand, and nearly all of them go
without the collector. With Python's own threshold it would look through them, and through every
module that is loaded, dozens of times: up to a third of the time that a capture takes.
"""

from __future__ import annotations

import gc
import os

from stator.borrowed_settings import BorrowedSetting

OBJECTS = 100_000  # new ones, before the collector runs
Threshold = tuple[int, int, int]


def _raised(users: Threshold) -> Threshold:
    """A higher threshold; 0, with which the user has switched the collector off, stays."""
    return (max(OBJECTS, users[0]), *users[1:]) if users[0] else users


_THRESHOLD = BorrowedSetting(gc.get_threshold, lambda new: gc.set_threshold(*new), _raised)
_SWITCH = BorrowedSetting(
    gc.isenabled, lambda on: gc.enable() if on else gc.disable(), lambda _: False
)


def fewer_collections() -> BorrowedSetting[Threshold]:
    """Inside, the collector runs once for so many new objects."""
    return _THRESHOLD


def no_collections() -> BorrowedSetting[bool]:
    """Inside, no cycle is collected: a finalizer would run where nothing expects it."""
    return _SWITCH


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_THRESHOLD.renew)
    os.register_at_fork(after_in_child=_SWITCH.renew)
