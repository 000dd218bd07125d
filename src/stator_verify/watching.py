"""PathWatch: an observer that notes the path of each condition, and how near the other was."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from stator.execute.observing import Observer
from stator.program.ir import Block, Op, Value
from stator_verify.margins import Margin, Margins
from stator_verify.outcome import Exhausted
from stator_verify.sites import Goal, Site, loop_path, site_of

LEVELS = 2  # conditions of a loop that are of interest: before the first iteration, and after it
FAR = (9, 0.0)  # the site was not reached
Distance = tuple[int, float]


@dataclass(frozen=True)
class Event:
    """A site was reached: which path was taken, and the margins of its conditions."""

    site: Site
    path: str
    margins: tuple[Margin | None, ...]
    times: int  # how often the body, or the first side, ran

    def distance(self, path: str) -> Distance:
        """How far this was from taking `path`; less is nearer."""
        if path == self.path:
            return (0, 0.0)
        level, wanted = self._condition(path)
        margin = self.margins[wanted] if wanted < len(self.margins) else None
        return (level, 1.0 if margin is None else float(margin.detach().abs().amin()))

    def deciding(self, path: str) -> Margin | None:
        """The margin that must change its sign."""
        _, wanted = self._condition(path)
        return self.margins[wanted] if wanted < len(self.margins) else None

    def holds(self, path: str) -> bool:
        """Does the condition that must change hold now?"""
        now = self.site.paths.index(self.path)
        return now == 0 if len(self.site.paths) == 2 else now > self._condition(path)[1]

    def _condition(self, path: str) -> tuple[int, int]:
        """(how many conditions are in between, which is the first of them)."""
        wanted, now = self.site.paths.index(path), self.site.paths.index(self.path)
        if len(self.site.paths) == 2 or wanted == 0:
            return 1, 0
        if now == 0:
            return wanted, 0
        return 1, 1


@dataclass
class _Loop:
    op: Op
    margins: list[Margin | None]
    iterations: int = 0


@dataclass
class PathWatch(Observer):
    """Observes one run; `limit` is the number of ops after which it is stopped.

    `site_of` says which ops choose: by default those that choose where the user's code does.
    """

    limit: int
    differentiates: bool = False
    site_of: Callable[[Op], Site | None] = site_of
    events: list[Event] = field(default_factory=list)
    ops: int = 0
    margins: Margins = field(default_factory=Margins)
    _loops: list[_Loop] = field(default_factory=list)
    _taken: dict[Op, Block] = field(default_factory=dict)
    _open: list[Op] = field(default_factory=list)

    def begin(self, op: Op, values: Mapping[Value, Any]) -> None:
        """Note a condition that is about to decide."""
        self.ops += 1
        if self.ops > self.limit:
            raise Exhausted
        self._open.append(op)
        if op.name == "stator::while":
            self._loops.append(_Loop(op, [self.margins.of(op.args[0])]))
        elif op.name in ("stator::if", "stator::assert"):
            self._note_branch(op, values)

    def _note_branch(self, op: Op, values: Mapping[Value, Any]) -> None:
        site = self.site_of(op)
        if site is not None:
            condition = op.args[0]
            holds = bool(values[condition] if isinstance(condition, Value) else condition)
            path = site.paths[0 if holds else 1]
            self.events.append(Event(site, path, (self.margins.of(condition),), int(holds)))

    def enter(self, block: Block, _values: Mapping[Value, Any]) -> None:
        """Count an iteration; remember which side of a branch runs."""
        if not self._open:
            return
        op = self._open[-1]
        if op.name == "stator::while":
            loop = self._loops[-1]
            if loop.iterations == 1:
                loop.margins.append(self.margins.of(block.outputs[0]))
            loop.iterations += 1
        elif op.name == "stator::if":
            self._taken[op] = block

    def end(self, op: Op, values: Mapping[Value, Any], results: Sequence[Any]) -> None:
        """Work out how far the result is from another one."""
        self._open.pop()
        if op.name == "stator::while":
            self._end_loop()
        with contextlib.nullcontext() if self.differentiates else torch.no_grad():
            if op.name == "stator::if":
                self.margins.joined(op, self._taken[op].outputs, results)
            else:
                self.margins.after(op, values, results)

    def fail(self, op: Op, _error: BaseException) -> None:
        """An op has raised: its loop is over."""
        self._open.pop()
        if op.name == "stator::while":
            self._end_loop()

    def _end_loop(self) -> None:
        loop = self._loops.pop()
        if loop.iterations == 1:
            loop.margins.append(self.margins.of(loop.op.blocks[0].outputs[0]))
        site = self.site_of(loop.op)
        if site is not None:
            margins = tuple(loop.margins[:LEVELS])
            self.events.append(Event(site, loop_path(loop.iterations), margins, loop.iterations))

    def taken(self) -> Iterator[Goal]:
        """The paths that the run took."""
        for event in self.events:
            yield Goal(event.site, event.path)

    def distance(self, goal: Goal) -> Distance:
        """How far the run was from `goal`."""
        here = [event for event in self.events if event.site == goal.site]
        return min((event.distance(goal.path) for event in here), default=FAR)

    def other_distance(self, goal: Goal) -> Distance:
        """How far the run was from `goal` where it took another path."""
        found = self.nearest(goal)
        return FAR if found is None else found.distance(goal.path)

    def nearest(self, goal: Goal) -> Event | None:
        """Where the run came nearest to `goal`, and took another path."""
        here = [e for e in self.events if e.site == goal.site and e.path != goal.path]
        return min(here, key=lambda event: event.distance(goal.path), default=None)
