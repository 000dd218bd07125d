"""Runs of programs that call their regions; what is not in a region runs in another backend.

program -> outline -> each region becomes a call of `stator_regions::run`
-> native, or the interpreter, runs the program
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from stator.execute.backend import Executable, Outcome, RegionState, Run, RunOptions, values_of
from stator.execute.interpreter import INTERPRETER
from stator.execute.selection import select
from stator.location import Location
from stator.native.backend import native
from stator.optimize.regions import Outline
from stator.program.ir import Op
from stator.program.program import Program
from stator.program.regions import without_regions
from stator.regions.calls import region_program, with_calls
from stator.regions.region import Ops, ProgramRegion

Later = Callable[[Callable[[], None]], None]  # has something done, now or in the background
# of a region: its op, what runs it as it is, and a way to have something done for it
MakeRegion = Callable[[Op, Ops, Later], ProgramRegion]


def prepared_elsewhere(program: Program, options: RunOptions) -> Executable:
    """`program` in the backend that runs what is not compiled."""
    name = INTERPRETER.name if native() is None else "native"
    return select(name, program, options).prepare(program, options)


class RegionProgram:
    """A program with regions: all that its bound runs share."""

    def __init__(
        self, outlined: Outline, options: RunOptions, make: MakeRegion, enqueue: Later, how: str
    ) -> None:
        self.name = outlined.program.name
        self.options = options
        self.how = how  # how a region runs that has failed
        self.pending = 0  # what is asked for and not done
        self._enqueue = enqueue
        self.generation = 0  # changes when a region is left out
        self.plain = prepared_elsewhere(without_regions(outlined.program), options)
        self.regions = tuple(make(op, self._ops(op), self._later) for op in outlined.regions)
        self._outlined = outlined.program
        self._said: set[int] = set()
        self._lock = threading.Lock()
        self.mixed = self._mixed()

    def _ops(self, op: Op) -> Ops:
        """A region as it is."""
        alone = prepared_elsewhere(region_program(op, self.name), self.options).bind({})

        def run(given: Sequence[Any]) -> Sequence[Any]:
            return values_of(alone(given))

        return run

    def _later(self, work: Callable[[], None]) -> None:
        """Work for a region: calls run the program without regions until it is done."""
        with self._lock:
            self.pending += 1

        def job() -> None:
            try:
                work()
            finally:
                with self._lock:
                    self.pending -= 1

        self._enqueue(job)

    def leave_out_failures(self) -> None:
        """Warn of regions that have failed, and run the program without them."""
        with self._lock:
            failed = [
                n for n, one in enumerate(self.regions) if one.failure and n not in self._said
            ]
            if not failed:
                return
            self._said.update(failed)
            self.mixed = self._mixed()
            self.generation += 1
        for number in failed:
            region = self.regions[number]
            warn_of(region.place, f"a region of `{self.name}` runs {self.how}: {region.failure}")

    @property
    def has_news(self) -> bool:
        """Whether a region has failed that no one was told of."""
        return any(one.failure and n not in self._said for n, one in enumerate(self.regions))

    def _mixed(self) -> Executable:
        """The program with calls of its regions, but for those that have failed."""
        called = {one.op: one for n, one in enumerate(self.regions) if n not in self._said}
        return prepared_elsewhere(with_calls(self._outlined, called), self.options)


def warn_of(place: Location | None, text: str) -> None:
    """A warning at the user's line."""
    if place is None:
        warnings.warn(text, stacklevel=4)
    else:
        warnings.warn_explicit(text, UserWarning, place.file, place.line)


@dataclass(frozen=True)
class RegionExecutable:
    """A program with regions, ready to be bound."""

    program: RegionProgram

    def bind(self, stored: Mapping[str, torch.Tensor]) -> Run:
        """The program over these tensors."""
        return RegionRun(self.program, stored, self.program.plain.bind(stored))


@dataclass(eq=False)
class RegionRun:
    """A program with regions over its tensors."""

    program: RegionProgram
    stored: Mapping[str, torch.Tensor]
    plain: Run
    _mixed: tuple[int, Run] | None = field(default=None)

    def region_states(self) -> tuple[RegionState, ...]:
        """How far each region is, in the order of the program."""
        return tuple(
            (one.place, f"{one.state}: {one.failure}" if one.failure else one.state)
            for one in self.program.regions
        )

    def __call__(self, inputs: Sequence[object]) -> Outcome:
        """Run it."""
        program = self.program
        if program.pending:
            return self.plain(inputs)
        if program.has_news:
            program.leave_out_failures()
        mixed = self._mixed
        if mixed is None or mixed[0] != program.generation:
            mixed = (program.generation, program.mixed.bind(self.stored))
            self._mixed = mixed
        return mixed[1](inputs)
