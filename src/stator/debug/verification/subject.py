"""Subject: what is verified, and how each form of it is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stator.debug.verification.examples import Example
from stator.debug.verification.mutations import SizeRule
from stator.debug.verification.outcome import Target
from stator.execute.observing import Observer
from stator.program.program import Program

Backend = Callable[[Example], Target]  # StatorError where it cannot run this


@dataclass(frozen=True)
class Subject:
    """What is verified, and how each form of it is run."""

    name: str  # for the report
    called: str  # for snippets
    names: list[str]  # of its parameters
    roots: Mapping[str, Any]  # what it can reach and change
    eager: Target
    program: Target
    backends: Mapping[str, Backend]
    programs: Callable[[], Sequence[Program]]
    served: Callable[[], Program | None]  # the program of the last call that was observed
    probe: Callable[[Example, Example, Observer], None]  # the program, on tensors with gradients
    may_change: SizeRule
