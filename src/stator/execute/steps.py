"""Steps: the ops and blocks of a program, prepared so that the interpreter runs them quickly.

Preparing does once what does not depend on the inputs: each op gets the handler that runs it, its
arguments become functions that read them, and each value is released after its last use. What the
handlers do is in `interpreter`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from stator.execute.backend import EffectsDone, HostCallbacks, RunOptions
from stator.execute.effects import without_wrappers
from stator.execute.lifetimes import NO_VALUES, Needs, last_uses, last_uses_from_outside, needs_in
from stator.execute.observing import Observer
from stator.location import Location
from stator.program.ir import Arg, Block, Op, Value
from stator.program.registry import constant_of

Values = dict[Value, Any]
Reader = Callable[[Values], Any]
Handler = Callable[["Step", "Activation"], Sequence[Any]]
# of an op and the values that nothing uses after it: what runs it, and the function that it calls
HandlerOf = Callable[[Op, frozenset[Value]], tuple[Handler, Callable[..., Any] | None]]


@dataclass(frozen=True, slots=True)
class Step:
    """An op, ready to run."""

    op: Op
    run: Handler
    function: Callable[..., Any] | None
    args: tuple[Reader, ...]
    attributes: tuple[tuple[str, Reader], ...]
    blocks: tuple[Steps, ...]
    released: tuple[Value, ...]  # used here for the last time


@dataclass(frozen=True, slots=True)
class Steps:
    """A block, ready to run."""

    inputs: tuple[Value, ...]
    steps: tuple[Step, ...]
    outputs: tuple[Reader, ...]
    released: tuple[Value, ...]
    observe: Callable[[str, Values], None] | None = None  # called when the block begins and ends


@dataclass(slots=True)
class RunState:
    """What a run has beside its values."""

    host: HostCallbacks
    functions: Mapping[str, Steps]  # of the program
    autocast_devices: tuple[str, ...]  # whose autocast the program sets
    effects: EffectsDone | None = None
    place: Location | None = None  # of the op that raised last
    handled: list[Exception] = field(default_factory=list)  # what handlers have caught


@dataclass(slots=True)
class Activation:
    """One activation: of the program, or of one of its functions."""

    values: Values
    outer: Values  # the program's inputs and stored tensors: what a function sees
    run: RunState
    depth: int = 0
    kept: dict[int, tuple[Any, ...]] = field(default_factory=dict)  # for handlers, by try
    caught: list[Caught] = field(default_factory=list)  # by the handlers that run now


class Caught(NamedTuple):
    """An exception that a handler has caught, and where it was raised."""

    error: Exception
    place: Location | None


def prepare_block(block: Block, options: RunOptions, handler_of: HandlerOf) -> Steps:
    """`block`, ready to run."""
    return _Preparation(options, handler_of, needs_in(block)).block(block, NO_VALUES)


@dataclass(frozen=True, slots=True)
class _Preparation:
    """How the blocks of a program are prepared, the outermost first."""

    options: RunOptions
    handler_of: HandlerOf
    needs: Needs  # of every op

    def block(self, block: Block, dying: frozenset[Value]) -> Steps:
        """Nothing uses the values `dying` of blocks around once `block` has run."""
        observer, released = self.options.observer, last_uses(block, self.needs)
        ends = [NO_VALUES] * len(block.ops)
        if not self.options.release:
            released = [()] * len(block.ops) + [tuple(value for part in released for value in part)]
        elif observer is None:
            outside = last_uses_from_outside(block, dying, self.needs)
            ends = [own.union(others) for own, others in zip(outside, released, strict=False)]
        steps = tuple(
            self._op(op, values, end)
            for op, values, end in zip(block.ops, released, ends, strict=False)
        )
        observe = None if observer is None else _observed_block(observer, block)
        outputs = tuple(map(_reader, block.outputs))
        return Steps(block.inputs, steps, outputs, released[-1], observe)

    def _op(self, op: Op, released: tuple[Value, ...], ends: frozenset[Value]) -> Step:
        """`op`, ready to run; nothing uses the values `ends` after it."""
        handler, function = self.handler_of(op, ends)
        if self.options.observer is not None:
            handler = _observed(handler, self.options.observer)
        attributes = tuple((name, _reader(arg)) for name, arg in op.attributes.items())
        is_once = op.name in ("stator::if", "stator::region")  # other blocks run again, or later
        dying = ends if is_once else NO_VALUES
        blocks = tuple(self.block(block, dying) for block in op.blocks)
        args = tuple(map(_reader, op.args))
        return Step(op, handler, function, args, attributes, blocks, released)


def _observed(run: Handler, observer: Observer) -> Handler:
    """`run`, observed by `observer`."""

    def run_observed(step: Step, frame: Activation) -> Sequence[Any]:
        observer.begin(step.op, frame.values)
        try:
            results = run(step, frame)
        except BaseException as error:
            observer.fail(step.op, without_wrappers(error))
            raise
        observer.end(step.op, frame.values, results)
        return results

    return run_observed


def _observed_block(observer: Observer, block: Block) -> Callable[[str, Values], None]:
    """Forwards to `observer` that `block` begins or ends."""

    def observe(event: str, values: Values) -> None:
        (observer.enter if event == "enter" else observer.leave)(block, values)

    return observe


def _reader(arg: Arg) -> Reader:
    """A function that gives the object that `arg` represents."""
    if isinstance(arg, Value):
        return operator.itemgetter(arg)
    if isinstance(arg, tuple):
        readers = tuple(map(_reader, arg))
        return lambda values: [read(values) for read in readers]
    constant = constant_of(arg)
    return lambda _: constant
