"""VariableListener: what the user's names hold wherever an op is recorded, for stepping.

Values of a program have numbers for names. A watch looks at the user's own frames whenever an op is
recorded, and notes for each name which values of the program it is made of.

NOTE: while the sides of a branch are joined, names hold what the last side has left in them. So the
names are `held` there, and each block has the state in which its own code has left them. A name
that no code reads afterwards is not joined at all: what is left in it is `stale`. At the start of a
loop's body, such a name holds what the last iteration has left: it is hidden there once the body
has been recorded.
NOTE: no tensor is kept: a result that somebody holds makes torch hand out another one.
"""

from __future__ import annotations

import contextlib
import cProfile
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import sympy
import torch

from stator.capture.listeners import Listener
from stator.capture.recorder import Recorder
from stator.capture.results import REFERENCES, SCALARS, Results
from stator.capture.scope import Scope
from stator.errors import StatorError
from stator.frames import converted_frames, is_converted, is_same_function, place_in
from stator.location import Location
from stator.program import structure as shape
from stator.program.ir import Block, Op, Value, ops_in
from stator.program.structure import Structure
from stator.program.types import NumberKind
from stator.torch_private.fake import FakeTensor
from stator.values.symbolic import Number, Undefined, kind_of_number

DEEPEST = 6
LONGEST = 200


@dataclass(frozen=True)
class ComputedNumber:
    """A number that the program has no value for: an expression of numbers and sizes."""

    expression: sympy.Basic
    kind: NumberKind
    symbols: tuple[tuple[sympy.Symbol, Value, int | None], ...]  # a size where there is a dimension


@dataclass(frozen=True)
class ForeignValue:
    """Something that is not of the program: a module, a function, an object of a library."""

    kind: str

    def __repr__(self) -> str:
        return f"<{self.kind}>"


UNBOUND = ForeignValue("not bound")  # what a name holds on the paths that do not bind it


@dataclass(frozen=True)
class Variable:
    """How the value of a name is put together from values of the program."""

    structure: Structure
    leaves: tuple[Value | ComputedNumber | None, ...]


@dataclass(frozen=True)
class FunctionVariables:
    """One function of the user's that runs: where it is, and what its names hold."""

    place: Location
    variables: Mapping[str, Variable]


Scene = tuple[FunctionVariables, ...]  # the functions that run at one moment, the outermost first


@dataclass(frozen=True)
class Scenes:
    """The names at each op, where a function returns after an op, and at the end of each block."""

    at: dict[Op, Scene] = field(default_factory=dict)
    returns: dict[Op, list[Scene]] = field(default_factory=dict)
    ends: dict[Block, Scene] = field(default_factory=dict)
    joins: set[Op] = field(default_factory=set)  # not of a line: they make ready what a block gives
    classes: dict[str, type] = field(default_factory=dict)


class VariableListener(Listener):
    """Notes what the names hold, during one capture: give its `listening` to `trace`."""

    def __init__(self) -> None:
        self.scenes = Scenes()
        self._written: list[Sequence[str]] = [()]  # names that the constructs around here set
        self._held: list[Scene | None] = [None]
        self._floor: types.FrameType | None = None
        self._floors: dict[Scope, types.FrameType] = {}
        self._before: list[list[tuple[types.FrameType, dict[str, Any]]]] = [[]]
        self._stale: dict[int, dict[str, Any]] = {}  # by frame: what was left in names

    @contextlib.contextmanager
    def listening(self, recorder: Recorder) -> Iterator[None]:
        """The functions that are called inside are those that are watched."""
        self.recorder = recorder
        self._floor, before = _innermost_converted(), sys.getprofile()
        recorder.listeners.append(self)
        sys.setprofile(self._returns)
        try:
            yield
        finally:
            _restore_profiler(before)
            self._floor, self._before = None, [[]]
            self._floors.clear()
            self._stale.clear()

    @contextlib.contextmanager
    def joining(self, written: Sequence[str]) -> Iterator[None]:
        """Inside, the names count as they are now, whatever is put into them.

        Afterwards the names `written` get values that hold on every path; others are stale.
        """
        self._held.append(self._now())
        self._written.append(written)
        self._before.append([(frame, dict(frame.f_locals)) for frame in self._frames()])
        try:
            yield
        finally:
            self._mark_stale(written)
            self._before.pop()
            self._written.pop()
            self._held.pop()

    def _mark_stale(self, written: Sequence[str] = ()) -> None:
        """What has been put into names since they are held is not to be seen."""
        for frame, before in self._before[-1]:
            stale = self._stale.setdefault(id(frame), {})
            for name, value in frame.f_locals.items():
                if value is not before.get(name, stale) and name not in written:
                    stale[name] = value

    @contextlib.contextmanager
    def running(
        self, scope: Scope, *, is_function: bool = False, repeats: bool = False
    ) -> Iterator[None]:
        """Inside, user code runs into the block of `scope`."""
        floor = _innermost_converted()
        if is_function and floor is not None:
            self._floors[scope] = floor
        self._mark_stale()
        self._held.append(None)
        entry, held = self._look(), [(one, dict(one.f_locals)) for one in self._frames()]
        try:
            yield
        finally:
            self.scenes.ends[scope.block] = self._look()
            self._held.pop()
            if repeats:
                self._hide(_changed(held).difference(self._written[-1]), entry, scope.block)

    def _hide(self, names: set[str], entry: Scene, block: Block) -> None:
        """In a loop's body, `names` hold what they held at `entry` in the first iteration only."""
        scenes = self.scenes
        for op in ops_in(block):
            if op in scenes.at:
                scenes.at[op] = _without(scenes.at[op], names, entry)
            if op in scenes.returns:
                scenes.returns[op] = [_without(s, names, entry) for s in scenes.returns[op]]
            for inner in op.blocks:
                if inner in scenes.ends:
                    scenes.ends[inner] = _without(scenes.ends[inner], names, entry)

    def before(self, op: Op, *, may_raise: bool) -> None:  # noqa: ARG002 (a Listener's method)
        """`op` is about to be recorded."""
        scene, ended = self._now(), self._ended()
        if op.name == "stator::raise" and op.place is not None and scene and ended is None:
            scene = _standing_at(op.place, scene)
        self.scenes.at[op] = scene
        if ended is not None:
            self.scenes.joins.add(op)

    def _now(self) -> Scene:
        held, ended = self._held[-1], self._ended()
        if ended is not None:
            return self.scenes.ends[ended]
        return self._look() if held is None else held

    def _ended(self) -> Block | None:
        """The block whose code has run already, if its end is being recorded."""
        if self._held[-1] is None:
            return None
        chain = (scope.block for scope in self.recorder.scope.chain())
        return next((block for block in chain if block in self.scenes.ends), None)

    def _returns(self, frame: types.FrameType, event: str, _given: Any) -> None:
        """Called by Python wherever a function is called or returns."""
        if event != "return" or not is_converted(frame):
            return
        if self._held[-1] is None:
            ops = self.recorder.scope.block.ops
            scene = self._look(frame) if ops else ()
            if scene:
                self.scenes.returns.setdefault(ops[-1], []).append(scene)
        self._stale.pop(id(frame), None)

    def _frames(self, start: types.FrameType | None = None) -> list[types.FrameType]:
        """The frames of converted code, the outermost first."""
        root = self.recorder.scope.root
        until = self._floors.get(root, self._floor)
        return list(converted_frames(start or sys._getframe(1), until))[::-1]

    def _look(self, start: types.FrameType | None = None) -> Scene:
        groups: list[list[types.FrameType]] = []
        for frame in self._frames(start):
            if groups and is_same_function(frame, within=groups[-1][-1]):
                groups[-1].append(frame)
            else:
                groups.append([frame])
        return tuple(map(self._activation, groups))

    def _activation(self, frames: list[types.FrameType]) -> FunctionVariables:
        held: dict[str, Any] = {}
        for frame in frames:
            held.update(frame.f_locals)
        stale = [self._stale.get(id(frame), {}) for frame in frames]
        found = {
            name: variable
            for name, value in held.items()
            if _is_shown(name, value)
            and not any(name in one and one[name] is value for one in stale)
            and (variable := self._variable(value)) is not None
        }
        place = replace(place_in(frames[-1]), function=place_in(frames[0]).function)
        return FunctionVariables(place, found)

    def _variable(self, value: Any) -> Variable | None:
        """How `value` is put together; None where no value in sight represents it."""
        parts = _Parts(self.recorder)
        try:
            structure = parts.structure_of(value)
        except _OutOfSight:
            return None
        self.scenes.classes.update(parts.classes)
        return Variable(structure, tuple(parts.leaves))  # type: ignore[arg-type] # see _Parts


def _restore_profiler(profiler: Any) -> None:
    """Make it the profiler of this thread again; one written in C cannot be set from Python."""
    if isinstance(profiler, cProfile.Profile):
        profiler.enable()
    else:
        sys.setprofile(profiler)


def _innermost_converted() -> types.FrameType | None:
    return next(converted_frames(sys._getframe(1), None), None)


def _changed(held: list[tuple[types.FrameType, dict[str, Any]]]) -> set[str]:
    """The names that hold another object now."""
    return {
        name
        for frame, before in held
        for name, value in frame.f_locals.items()
        if name in before and value is not before[name]
    }


def _without(scene: Scene, names: set[str], entry: Scene) -> Scene:
    """`scene` but for `names` that hold what they hold at `entry`."""
    if not names:
        return scene
    shown = list(scene)
    for k, (now, then) in enumerate(zip(scene, entry, strict=False)):
        left = {
            name: variable
            for name, variable in now.variables.items()
            if name not in names or variable != then.variables.get(name)
        }
        shown[k] = replace(now, variables=left)
    return tuple(shown)


def _standing_at(place: Location, scene: Scene) -> Scene:
    """`scene` at the line of an exception, which has left it."""
    last = scene[-1]
    if last.place == place:
        return scene
    if last.place.function == place.function:
        return (*scene[:-1], replace(last, place=place))
    return (*scene, FunctionVariables(place, {}))


def _is_shown(name: str, value: Any) -> bool:
    """Is it a name of the user's that is bound?"""
    return not (name.endswith("__") or name.startswith(".") or isinstance(value, Undefined))


class _OutOfSight(Exception):
    """A tensor or a number of a block that has ended."""


class _Finder:
    """Finds the values that things represent, and records nothing."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def arg(self, value: Any) -> Any:
        """The value, or the expression, that a tensor or a number is."""
        if isinstance(value, torch.Tensor):
            found = self.recorder.find(value)
            if found is None:
                raise _OutOfSight
            return found
        return self._number(value) if isinstance(value, Number) else value.value

    def _number(self, number: Number) -> Any:
        expression = number.node.expr
        for scope in self.recorder.scope.chain():
            if expression in scope.numbers:
                return scope.numbers[expression]
        symbols = tuple(self._symbol(one) for one in expression.free_symbols)
        return ComputedNumber(expression, kind_of_number(number), symbols)

    def _symbol(self, symbol: sympy.Symbol) -> tuple[sympy.Symbol, Value, int | None]:
        for scope in self.recorder.scope.chain():
            if symbol in scope.symbols:
                return (symbol, *scope.symbols[symbol])
        raise _OutOfSight


class _Parts(Results):
    """Takes a value apart as a result is, but for what no program can give: that is named."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(_Finder(recorder), lambda _: False)  # type: ignore[arg-type]
        self._depth = 0

    def structure_of(self, value: Any) -> Structure:
        """The structure of `value`; its leaves are values and expressions."""
        if self._depth > DEEPEST or _is_long(value):
            return shape.ConstantValue(ForeignValue(f"{type(value).__name__}, too large to show"))
        if isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor):
            return self._real(value)
        if isinstance(value, REFERENCES) and not isinstance(value, SCALARS):
            return shape.ConstantValue(ForeignValue(_reference(value)))
        self._depth += 1
        try:
            return super().structure_of(value)
        except (StatorError, AttributeError):  # an object whose `__init__` is not done lacks some
            return shape.ConstantValue(
                ForeignValue(type(value).__name__.removeprefix("Staged").lower())
            )
        finally:
            self._depth -= 1

    def _alternative(self, value: Any) -> Structure:
        if isinstance(value, Undefined):
            return shape.ConstantValue(UNBOUND)
        return super()._alternative(value)

    def _real(self, tensor: torch.Tensor) -> Structure:
        try:
            return self._leaf(self.recorder.arg(tensor))
        except _OutOfSight:  # a tensor of the user's that no op has used so far
            kind = str(tensor.dtype).removeprefix("torch.")
            return shape.ConstantValue(
                ForeignValue(f"{kind} tensor of {tuple(tensor.shape)}, not used yet")
            )


def _is_long(value: Any) -> bool:
    plain = isinstance(value, list | tuple | dict) and getattr(value, "columns", None) is None
    return plain and len(value) > LONGEST


def _reference(value: Any) -> str:
    name = getattr(value, "__qualname__", None)
    return f"{type(value).__name__} {name}" if name else str(value)
