"""Report: what became of a function, as data; the text and the page are made from it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from stator.debug.html import report_page
from stator.debug.text import report_text


@dataclass(frozen=True)
class Line:
    """A line of the user's source, what became of it, and how many ops it makes."""

    file: str
    line: int
    function: str
    source: str
    notes: tuple[str, ...]
    ops: int


@dataclass(frozen=True)
class Fact:
    """One thing that holds for a whole capture, and the line that it comes from."""

    what: str
    place: str = ""


@dataclass(frozen=True)
class CaptureReport:
    """One capture: why it was made, and what it is made of."""

    because: str
    inputs: tuple[str, ...]
    ops: int
    lines: tuple[Line, ...]
    converted: tuple[Fact, ...]
    left_alone: tuple[Fact, ...]
    fixed: tuple[Fact, ...]  # values that the program holds for, each watched by a guard
    watched: tuple[Fact, ...]  # objects that must stay the same
    read_anew: tuple[Fact, ...]
    sizes: tuple[Fact, ...]  # that are open
    demands: tuple[Fact, ...]
    effects: tuple[Fact, ...]


@dataclass(frozen=True)
class Report:
    """What `explain` gives: print it, or take `to_html()` or `to_dict()`."""

    function: str
    captures: tuple[CaptureReport, ...]
    fallbacks: tuple[Fact, ...]  # calls that run eagerly, as `full_graph=False` allows
    refused: str = ""  # the error, where nothing could be captured

    def __str__(self) -> str:
        return report_text(self)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """The whole report as dicts, lists, numbers and texts."""
        return dataclasses.asdict(self)

    def to_html(self) -> str:
        """The report as one page that needs nothing else."""
        return report_page(self)
