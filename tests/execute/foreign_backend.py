"""A backend that behaves like one in another language: what is raised comes back as data only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch

from stator.execute.backend import Capability, Outcome, RaisedError, Run, RunOptions
from stator.execute.interpreter import INTERPRETER, Runner
from stator.execute.selection import Provider
from stator.program.program import Program


@dataclass(frozen=True)
class ForeignExecutable:
    """A program that the interpreter runs, without its exceptions."""

    runner: Runner

    def bind(self, stored: Mapping[str, torch.Tensor]) -> Run:
        run = self.runner.bind(stored)

        def run_inputs(inputs: Sequence[object]) -> Outcome:
            return without_error(run(inputs))

        return run_inputs


@dataclass
class ForeignBackend:
    """The interpreter behind a boundary that no exception passes."""

    capabilities: frozenset[Capability] = frozenset(Capability)
    refuses: str = ""
    name: str = "foreign"
    prepared: list[Program] = field(default_factory=list)

    def refusal(self, _program: Program) -> str:
        return self.refuses

    def prepare(self, program: Program, options: RunOptions) -> ForeignExecutable:
        self.prepared.append(program)
        return ForeignExecutable(INTERPRETER.prepare(program, options))

    def provider(self) -> Provider:
        return Provider(lambda: self)


def without_error(outcome: Outcome) -> Outcome:
    """The outcome with plain data in the place of the exception."""
    if not isinstance(outcome, RaisedError) or outcome.error is None:
        return outcome
    error = outcome.error
    return replace(
        outcome,
        error=None,
        notes=tuple(getattr(error, "__notes__", ())),
        involved=dict(getattr(error, "involved", {})),
    )
