"""ReportContents: what became of a function, as data; the text and the page are made from it."""

from __future__ import annotations

from dataclasses import dataclass


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
    state_inputs: tuple[Fact, ...]
    sizes: tuple[Fact, ...]  # that are dynamic
    size_checks: tuple[Fact, ...]
    effects: tuple[Fact, ...]
    backend: str = ""  # what runs the program, and why
    regions: tuple[Fact, ...] = ()  # that are compiled, and why other ops are in none


@dataclass(frozen=True)
class ReportContents:
    """What became of a function."""

    function: str
    captures: tuple[CaptureReport, ...]
    fallbacks: tuple[Fact, ...]  # calls that run eagerly, as `full_graph=False` allows
    refused: str = ""  # the error, where nothing could be captured
