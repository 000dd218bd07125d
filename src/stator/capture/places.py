"""Where are we in the user's file, and whose mistake is an error?"""

from __future__ import annotations

import os

from stator.frames import (
    OWN_FOLDER,
    current_place,
    is_library_file,
    place_of,
    traces_of,
    within,
)

__all__ = ["current_place", "is_library_file", "place_of", "raised_by_stator"]
_MACHINERY = tuple(os.path.join(OWN_FOLDER, part) for part in ("capture", "program"))


def raised_by_stator(error: BaseException) -> bool:
    """Is `error` a bug of ours: raised by the recorder's machinery, not on the user's behalf?"""
    *_, last = (None, *traces_of(error))
    file = last.tb_frame.f_code.co_filename if last is not None else ""
    return within(file, _MACHINERY) and not file.endswith("values.py")
