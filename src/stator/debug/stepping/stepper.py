"""Stepper: programs run op by op, and stop where they are asked to."""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from typing import Any

from stator.debug.stepping.breakpoints import Breakpoint, Condition, check_line
from stator.debug.stepping.frame import Frame, Quit, Way, Why
from stator.debug.stepping.history import History, Seen
from stator.debug.stepping.targets import Targets
from stator.debug.stepping.trail import Standing, Trail
from stator.debug.stepping.variables import Scene, Scenes
from stator.errors import UnknownOption
from stator.execute import observing
from stator.execute.checks import split_checks
from stator.execute.observing import Observer, RunStop
from stator.frames import user_facing
from stator.location import Location
from stator.program.ir import Block, Op
from stator.program.program import Program

OnStop = Callable[[Frame], Any]
FIRST_LINE = Way("next_line", sys.maxsize)
Key = tuple[str, str, int, tuple[int, ...]]


class Stepper:
    """The stepper that `step` returns: its breakpoints, and the values it has recorded."""

    def __init__(
        self, function: Any, on_stop: OnStop | None, remember: Collection[str] | None
    ) -> None:
        self._target = Targets.of(function)
        self._name = getattr(function, "__name__", type(function).__name__)
        self.on_stop = on_stop
        self._exits = ExitStack()
        self._breakpoints: list[Breakpoint] = []
        self._watched: list[str] = []
        self._history = History(remember)
        self._remember = remember
        self._runs: list[_ProgramObserver] = []

    def __enter__(self) -> Stepper:
        self._exits.enter_context(self._target.observed(self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: types.TracebackType | None,
    ) -> bool:
        self._exits.close()
        if error is None and not self._runs:
            warnings.warn(
                f"nothing was stepped through: call the stepper, not `{self._name}` itself",
                stacklevel=2,
            )
        return isinstance(error, Quit)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function gives, op by op."""
        return self._target(*args, **kwargs)

    # ---- where to stop

    @user_facing
    def break_at(
        self, where: str | int, line: int | None = None, *, when: Condition | None = None
    ) -> Breakpoint:
        """Stop before a line: `break_at(12)`, of the function's file, or `break_at("file.py", 12)`.

        `when` is a condition: an expression of the names of that line, or a function of the frame.
        """
        file, number = (None, where) if line is None else (where, line)
        if not isinstance(number, int) or not (file is None or isinstance(file, str)):
            raise UnknownOption(
                f"{where!r} is not a line", fix='write break_at(12) or break_at("model.py", 12)'
            )
        new = Breakpoint(file, number, when)
        if self._runs:
            self._check([new])
        self._breakpoints.append(new)
        return new

    @property
    def breakpoints(self) -> tuple[Breakpoint, ...]:
        """The breakpoints, in the order they were made."""
        return tuple(self._breakpoints)

    def clear(self, *breakpoints: Breakpoint) -> None:
        """Forget these breakpoints; without any, all."""
        kept = [one for one in self._breakpoints if breakpoints and one not in breakpoints]
        self._breakpoints = kept

    @user_facing
    def watch(self, name: str) -> None:
        """Stop whenever the variable `name` holds something else than before."""
        if self._remember is not None and name not in self._remember:
            raise UnknownOption(f"`{name}` is not remembered", fix=f"add {name!r} to `remember`")
        self._watched.append(name)

    # ---- what was seen

    def values(
        self, name: str, *, line: int | None = None, function: str | None = None
    ) -> list[Seen]:
        """What the variable `name` has held: each new value, and each iteration of a loop.

        With `line`, what it held each time that line was about to run. Functions of the user's may
        have a name in common: `function` chooses one.
        """
        return self._history.values(name, line=line, function=function)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables that have been seen."""
        return self._history.names

    # ---- for runs

    def observe(self, program: Program, scenes: Scenes | None) -> Observer:
        """The observer of the runs of `program`: see `Watcher`."""
        new = _ProgramObserver(self, Trail(program, scenes))
        self._runs.append(new)
        self._check(self._breakpoints)
        return new

    def _check(self, breakpoints: Sequence[Breakpoint]) -> None:
        """A breakpoint must be on a line of some program that was seen."""
        places = [place for run in self._runs for place in run.places]
        for one in breakpoints:
            check_line(one, places, self._runs[-1].main)

    def stops_at(self, place: Location, main: str) -> list[Breakpoint]:
        """The breakpoints that are there."""
        return [one for one in self._breakpoints if one.is_at(place, main)]

    @property
    def first_way(self) -> Way:
        """How a run begins."""
        return Way("resume") if self._breakpoints or self._watched else FIRST_LINE

    def note(self, trail: Trail, standing: Standing, *, begins_line: bool) -> tuple[str, ...]:
        """Remember what the names hold; gives the watched ones that hold something else."""
        changed = self._history.note(trail.line(standing), begins_line=begins_line)
        return tuple(name for name in changed if name in self._watched)

    @property
    def has_stops(self) -> bool:
        """Is there somebody to stop for?"""
        return self.on_stop is not None

    def stop(self, frame: Frame) -> None:
        """Hand over to the callback or the prompt."""
        if self.on_stop is not None:
            try:
                self.on_stop(frame)
            except BaseException as error:  # noqa: BLE001  # not for handlers of the program
                raise RunStop(error) from None


class _ProgramObserver(Observer):
    """The observer of the runs of one program."""

    def __init__(self, stepper: Stepper, trail: Trail) -> None:
        self.stepper, self.trail = stepper, trail
        self.way = stepper.first_way
        self.places = _places(trail)
        self.main = _main_file(trail, self.places)
        self._checks, self._body = split_checks(trail.program)
        self._keys: list[Key] = []
        self._begun: list[list[Key]] = []  # where each op has begun that has not ended
        self._failed: BaseException | None = None
        self._changed: tuple[str, ...] = ()

    # ---- what the interpreter tells

    def begin(self, op: Op, values: observing.Seen) -> None:
        """Stops before an op, if it is to."""
        scene = self.trail.scene(op)
        if scene:
            self._arrive(op, self.trail.standing(scene, values), values)
        self._begun.append(self._keys)
        self.trail.begin(op, values)

    def enter(self, block: Block, _values: observing.Seen) -> None:
        """A block begins; at the top, a run does."""
        first = self._checks if self._checks.ops else self._body
        if self._is_top(block, first):
            self.way, self._keys, self._failed = self.stepper.first_way, [], None
        self.trail.enter(block)

    def leave(self, block: Block, values: observing.Seen) -> None:
        """A block ends: what its names hold is noted, and at the end of the program it stops."""
        scene = self.trail.scenes.ends.get(block)
        if scene and self.trail.levels:
            self._note(scene, values)
        elif self._is_top(block, self._body):
            self._end(values)

    def end(self, op: Op, values: observing.Seen, results: Sequence[Any]) -> None:
        """An op has run: where functions return after it, what their names hold is noted.

        After a loop or a branch the run is on its line again, and has not come to it a second time.
        """
        self.trail.end()
        keys = self._begun.pop()
        if op.blocks:
            self._keys = keys
        returns = self.trail.scenes.returns.get(op, ())
        if returns:
            known = {**values, **dict(zip(op.results, results, strict=True))}
            for scene in returns:
                self._note(scene, known)

    def fail(self, op: Op, error: BaseException) -> None:
        """An op has raised: it stops at the innermost one."""
        level = self.trail.levels[-1]
        self.trail.end()
        self._begun.pop()
        if isinstance(error, Exception) and error is not self._failed:
            self._failed = error
            scene = self.trail.scene(op)
            if scene:
                standing = self.trail.standing(scene, level.values)
                self._stop(op, "error", standing, len(standing) - 1, level.values, error)

    # ---- where it stops

    def _is_top(self, block: Block, one: Block) -> bool:
        """Is `block`, which a run is in, this one at the top of the program?"""
        return not self.trail.levels and not block.inputs and block.ops == one.ops

    def _end(self, values: observing.Seen) -> None:
        ops = self.trail.program.body.ops
        returns = self.trail.scenes.returns.get(ops[-1]) if ops else None
        if returns and (self._changed or self.way.kind != "resume"):
            standing = self.trail.standing(returns[-1][:1], values)
            self._stop(None, "watch" if self._changed else "end", standing, 0, values)

    def _note(self, scene: Scene, values: observing.Seen) -> None:
        standing = self.trail.standing(scene, values)
        self._changed += self.stepper.note(self.trail, standing[-1], begins_line=False)

    def _arrive(self, op: Op, standing: list[Standing], values: observing.Seen) -> None:
        """Note what is there, and stop if this is one of the places."""
        keys = [_key(one) for one in standing]
        pairs = zip(keys, self._keys, strict=False)
        arrived = next((k for k, (new, old) in enumerate(pairs) if new != old), None)
        if arrived is None and len(keys) > len(self._keys):
            arrived = len(self._keys)
        if op in self.trail.scenes.joins:
            arrived = None
        else:
            self._keys = keys
        is_line = arrived is not None
        self._changed += self.stepper.note(self.trail, standing[-1], begins_line=is_line)
        if not self.stepper.has_stops:
            return
        if self._changed:
            self._stop(op, "watch", standing, len(standing) - 1, values)
        elif self._is_there(arrived):
            depth = len(standing) - 1 if arrived is None or self.way.kind == "step" else arrived
            self._stop(op, "op" if self.way.kind == "step" else "line", standing, depth, values)
        elif arrived is not None:
            self._stop_at_breakpoint(op, standing, arrived, values)

    def _is_there(self, arrived: int | None) -> bool:
        """Has the run come as far as it was asked to?"""
        way, level = self.way, len(self.trail.levels)
        if way.kind == "step":
            return True
        if arrived is None or way.kind == "resume":
            return False
        if way.kind == "out":
            return level < way.level or arrived < way.depth
        return arrived <= way.depth and (way.kind == "next_line" or level <= way.level)

    def _stop_at_breakpoint(
        self, op: Op, standing: list[Standing], arrived: int, values: observing.Seen
    ) -> None:
        for depth in range(arrived, len(standing)):
            found = self.stepper.stops_at(standing[depth].activation.place, self.main)
            frame = self._frame(op, "breakpoint", standing, depth, values) if found else None
            if frame is not None and any(self._holds(one, frame) for one in found):
                self._hand_over(frame)
                return

    def _holds(self, one: Breakpoint, frame: Frame) -> bool:
        try:
            return one.holds(frame)
        except Exception as error:  # noqa: BLE001  # not for handlers of the program
            raise RunStop(error) from None

    def _stop(
        self,
        op: Op | None,
        why: Why,
        standing: list[Standing],
        depth: int,
        values: observing.Seen,
        error: BaseException | None = None,
    ) -> None:
        if self.stepper.has_stops:
            self._hand_over(self._frame(op, why, standing, depth, values, error))

    def _frame(
        self,
        op: Op | None,
        why: Why,
        standing: list[Standing],
        depth: int,
        values: observing.Seen,
        error: BaseException | None = None,
    ) -> Frame:
        lines = tuple(map(self.trail.line, standing))
        level = len(self.trail.levels)
        return Frame(op, why, lines, depth, level, error, self._changed, dict(values), self._go)

    def _hand_over(self, frame: Frame) -> None:
        self.way, self._changed = Way("resume"), ()
        self.stepper.stop(frame)

    def _go(self, way: Way) -> None:
        self.way = way


def _key(standing: Standing) -> Key:
    place = standing.activation.place
    return place.function, place.file, place.line, standing.iterations


def _places(trail: Trail) -> list[Location]:
    """Every line that the program has an op for, or that calls a function with one."""
    program = trail.program
    ops = [*program.ops()]
    found = {(one.place.file, one.place.line): one.place for op in ops for one in trail.scene(op)}
    return list(found.values())


def _main_file(trail: Trail, places: list[Location]) -> str:
    """The file of the function that is stepped through."""
    for op in trail.program.body.ops:
        scene = trail.scene(op)
        if scene:
            return scene[0].place.file
    return places[0].file if places else ""
