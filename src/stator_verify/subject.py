"""Subject: what is verified, and how each form of it is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stator.api.example import Example
from stator.execute.observing import Observer
from stator.program.program import Program
from stator_verify.drawing import SizeRule
from stator_verify.outcome import Runnable

Backend = Callable[[Example], Runnable]  # StatorError where it cannot run this


@dataclass(frozen=True)
class Subject:
    """What is verified, and how each form of it is run."""

    name: str  # for the report
    called: str  # for snippets
    names: list[str]  # of its parameters
    roots: Mapping[str, Any]  # what it can reach and change
    eager: Runnable
    program: Runnable
    backends: Mapping[str, Backend]
    programs: Callable[[], Sequence[Program]]
    served: Callable[[], Program | None]  # the program of the last call that was observed
    probe: Callable[[Example, Example, Observer], None]  # the program, on tensors with gradients
    may_change: SizeRule
