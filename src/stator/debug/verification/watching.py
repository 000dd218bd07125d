"""Watch: an observer that notes which way each condition went, and how near the other one was."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from stator.debug.verification.margins import Margin, Margins
from stator.debug.verification.outcome import Exhausted
from stator.debug.verification.sites import Goal, Site, site_of, trips_way
from stator.program.ir import Block, Op, Value

LEVELS = 2  # conditions of a loop that are of interest: before the first trip, and after it
FAR = (9, 0.0)  # the site was not come to
Distance = tuple[int, float]


@dataclass(frozen=True)
class Event:
    """A site was come to: which way it went, and the margins of its conditions."""

    site: Site
    way: str
    margins: tuple[Margin | None, ...]
    trips: int  # how often the body, or the first side, ran

    def distance(self, way: str) -> Distance:
        """How far this was from going `way`; less is nearer."""
        if way == self.way:
            return (0, 0.0)
        level, wanted = self._condition(way)
        margin = self.margins[wanted] if wanted < len(self.margins) else None
        return (level, 1.0 if margin is None else float(margin.detach().abs().amin()))

    def deciding(self, way: str) -> Margin | None:
        """The margin that must change its sign."""
        _, wanted = self._condition(way)
        return self.margins[wanted] if wanted < len(self.margins) else None

    def holds(self, way: str) -> bool:
        """Does the condition that must change hold now?"""
        now = self.site.ways.index(self.way)
        return now == 0 if len(self.site.ways) == 2 else now > self._condition(way)[1]

    def _condition(self, way: str) -> tuple[int, int]:
        """(how many conditions are in the way, which is the first of them)."""
        wanted, now = self.site.ways.index(way), self.site.ways.index(self.way)
        if len(self.site.ways) == 2 or wanted == 0:
            return 1, 0
        if now == 0:
            return wanted, 0
        return 1, 1


@dataclass
class _Loop:
    op: Op
    margins: list[Margin | None]
    trips: int = 0


@dataclass
class Watch:
    """Observes one run; `limit` is the number of ops after which it is stopped."""

    limit: int
    differentiates: bool = False
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
        site = site_of(op)
        if site is not None:
            condition = op.args[0]
            holds = bool(values[condition] if isinstance(condition, Value) else condition)
            way = site.ways[0 if holds else 1]
            self.events.append(Event(site, way, (self.margins.of(condition),), int(holds)))

    def enter(self, block: Block, _values: Mapping[Value, Any]) -> None:
        """Count a trip; remember which side of a branch runs."""
        if not self._open:
            return
        op = self._open[-1]
        if op.name == "stator::while":
            loop = self._loops[-1]
            if loop.trips == 1:
                loop.margins.append(self.margins.of(block.outputs[0]))
            loop.trips += 1
        elif op.name == "stator::if":
            self._taken[op] = block

    def leave(self, block: Block, values: Mapping[Value, Any]) -> None:
        """Nothing to note."""

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
        if loop.trips == 1:
            loop.margins.append(self.margins.of(loop.op.blocks[0].outputs[0]))
        site = site_of(loop.op)
        if site is not None:
            margins = tuple(loop.margins[:LEVELS])
            self.events.append(Event(site, trips_way(loop.trips), margins, loop.trips))

    def gone(self) -> Iterator[Goal]:
        """The ways that the run has gone."""
        for event in self.events:
            yield Goal(event.site, event.way)

    def distance(self, goal: Goal) -> Distance:
        """How far the run was from `goal`."""
        here = [event for event in self.events if event.site == goal.site]
        return min((event.distance(goal.way) for event in here), default=FAR)

    def other_distance(self, goal: Goal) -> Distance:
        """How far the run was from `goal` where it went another way."""
        found = self.nearest(goal)
        return FAR if found is None else found.distance(goal.way)

    def nearest(self, goal: Goal) -> Event | None:
        """Where the run came nearest to `goal`, and went another way."""
        here = [e for e in self.events if e.site == goal.site and e.way != goal.way]
        return min(here, key=lambda event: event.distance(goal.way), default=None)
