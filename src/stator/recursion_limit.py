"""more_frames(): code of the user's may be as deep as Python's limit allows it to be in eager code.

A call of the user's takes several frames of Stator's own, in a capture and in the interpreter. So
the limit is raised meanwhile, and the user's calls are counted and compared with `users_limit`.
"""

from __future__ import annotations

import sys

from stator.borrowed_settings import BorrowedSetting

FACTOR = 12  # more frames than one call of the user's takes
_LIMIT = BorrowedSetting(sys.getrecursionlimit, sys.setrecursionlimit, lambda users: users * FACTOR)


def more_frames() -> BorrowedSetting[int]:
    """Inside, Stator's frames do not count."""
    return _LIMIT


def users_limit() -> int:
    """How deep the user's own calls may be."""
    return _LIMIT.users
