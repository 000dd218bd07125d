"""Decisions: what staging did with each construct and callee, for `explain`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stator.frames import current_place
from stator.location import Location
from stator.logs import LOGGER


@dataclass(frozen=True)
class Decision:
    """What staging did with one construct or callee."""

    what: str  # "if", "while", "for", "call"
    choice: str  # "recorded", "python", "converted", "library", "left alone"
    why: str
    place: Location | None
    defined: Location | None = None  # where a converted callee is defined

    def __str__(self) -> str:
        where = self.place.short if self.place is not None else "somewhere"
        return f"{where}: {self.what} {self.choice}: {self.why}"


class Decisions:
    """The decisions of one capture, in order."""

    def __init__(self) -> None:
        self._all: list[Decision] = []

    def add(self, what: str, choice: str, why: str, defined: Location | None = None) -> None:
        """Keep a decision, with the line of user code it is about."""
        decision = Decision(what, choice, why, current_place(), defined)
        self._all.append(decision)
        LOGGER.debug("%s", decision)

    def __iter__(self) -> Iterator[Decision]:
        return iter(self._all)
