"""Where are we in the user's file? The innermost frame that is not library code."""

from __future__ import annotations

import functools
import os
import re
import sys
import sysconfig
import types

import torch

from stator.location import Location

_PACKAGES = (
    os.path.dirname(torch.__file__),
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
    sysconfig.get_paths()["stdlib"],
)
_MACHINERY = tuple(os.path.join(_PACKAGES[1], part) for part in ("capture", "program"))
_SITE = tuple(sysconfig.get_paths()[name] for name in ("purelib", "platlib"))
_LIBRARIES = tuple(os.path.join(site, name) for site in _SITE for name in ("numpy", "sympy"))


_GENERATED = re.compile(r"_\d+__$|^outer$")  # names that the rewrite makes


@functools.cache
def is_library_file(file: str) -> bool:
    """Is `file` part of torch, numpy, the standard library or Stator itself?"""
    if file.startswith("<"):
        return file.startswith(("<frozen", "<__array_function__"))
    inside = _within(file, _PACKAGES) or _within(file, _LIBRARIES)
    return inside and not (_within(file, _SITE) and not _within(file, _LIBRARIES + _PACKAGES[:2]))


def _within(file: str, folders: tuple[str, ...]) -> bool:
    return any(file.startswith(folder + os.sep) for folder in folders)


def current_place() -> Location | None:
    """The line of user code that runs now."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if not is_library_file(frame.f_code.co_filename):
            return _location(frame.f_code, frame.f_lasti, frame.f_lineno)
        frame = frame.f_back
    return None


def place_of(error: BaseException) -> Location | None:
    """The innermost line of user code that `error` came through."""
    found, trace = None, error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not is_library_file(code.co_filename):
            found = _location(code, trace.tb_lasti, trace.tb_lineno)
        trace = trace.tb_next
    return found


def raised_by_stator(error: BaseException) -> bool:
    """Is `error` a bug of ours: raised by the recorder's machinery, not on the user's behalf?"""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    file = trace.tb_frame.f_code.co_filename if trace is not None else ""
    return _within(file, _MACHINERY) and not file.endswith("values.py")


def _location(code: types.CodeType, instruction: int, line: int) -> Location:
    column = _columns(code)[instruction // 2] if instruction >= 0 else 0
    return Location(code.co_filename, line, column or 0, _visible_name(code.co_qualname))


@functools.lru_cache(maxsize=4096)
def _columns(code: types.CodeType) -> tuple[int | None, ...]:
    return tuple(position[2] for position in code.co_positions())


def _visible_name(qualified: str) -> str:
    """The function's own name, without the pieces that the rewrite nested into it."""
    parts = [
        part for part in qualified.split(".") if part != "<locals>" and not _GENERATED.search(part)
    ]
    return parts[-1] if parts else qualified
