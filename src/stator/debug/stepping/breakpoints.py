"""Breakpoint: a line where a run is to stop, and under which condition."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch

from stator.debug.stepping.frame import Frame
from stator.errors import InputError
from stator.location import Location

Condition = str | Callable[[Frame], Any]


@dataclass(frozen=True)
class Breakpoint:
    """A line to stop at; `file` may be the end of a path, None is the file of the function."""

    file: str | None
    line: int
    when: Condition | None = None

    def is_at(self, place: Location, main: str) -> bool:
        """Is it there?"""
        if place.line != self.line:
            return False
        wanted = main if self.file is None else self.file
        return place.file == wanted or place.file.endswith(os.sep + wanted)

    def holds(self, frame: Frame) -> bool:
        """Is its condition met? A text is evaluated with the names of the line."""
        if self.when is None:
            return True
        if callable(self.when):
            return bool(self.when(frame))
        return bool(evaluated(self.when, frame))

    def __str__(self) -> str:
        when = f" when {self.when}" if isinstance(self.when, str) else ""
        return f"{self.file or 'line'}{':' if self.file else ' '}{self.line}{when}"


def evaluated(text: str, frame: Frame) -> Any:
    """A Python expression, with the names of the line that `frame` is about."""
    return eval(text, {"torch": torch}, dict(frame.variables))


def check_line(breakpoint_: Breakpoint, places: Iterable[Location], main: str) -> None:
    """InputError if no op of the program is on that line."""
    known = sorted({place.line for place in places if _same_file(breakpoint_, place, main)})
    if breakpoint_.line in known:
        return
    file = os.path.basename(breakpoint_.file or main)
    if not known:
        raise InputError(f"no op of the program comes from {file}", fix=_files(places))
    near = sorted(known, key=lambda line: (abs(line - breakpoint_.line), line))[:5]
    raise InputError(
        f"no op of the program comes from {file}:{breakpoint_.line}",
        fix=f"lines near it that have ops: {', '.join(map(str, sorted(near)))}",
    )


def _same_file(breakpoint_: Breakpoint, place: Location, main: str) -> bool:
    return Breakpoint(breakpoint_.file, place.line).is_at(place, main)


def _files(places: Iterable[Location]) -> str:
    names = sorted({os.path.basename(place.file) for place in places})
    return f"name one of {', '.join(names)}" if names else "print the program to see what it has"
