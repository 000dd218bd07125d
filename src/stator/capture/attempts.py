"""capture_try: the body and the handlers of a `try` are recorded, and what they leave is joined.

A handler starts where the body has raised, and only a run knows where that is. So the body is
recorded twice: the first time shows what its names, and the objects it changes, hold wherever it
may raise; the second time it keeps (`stator::keep`) what they hold there, and a handler is given
what was kept last.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from stator.capture.blocks import (
    Recorded,
    describe_states,
    put_state,
    record_block,
    with_keys,
)
from stator.capture.branches import join_sides
from stator.capture.carry import flatten, instantiate, new_leaves
from stator.capture.journal import same_state, state_of
from stator.capture.kinds import Fresh, Kind, describe, generalise, merge, same_value
from stator.capture.loops import Variables
from stator.capture.places import current_place
from stator.capture.recorder import Recorder
from stator.capture.scope import Attempt
from stator.capture.values import CapturedText, CaughtError
from stator.errors import UnsupportedCall
from stator.program.ir import Arg, Block, Value
from stator.program.types import NumberType, TextType

Handler = tuple[tuple[str, ...], Callable[[CaughtError], Any]]  # what it catches, and its code


@dataclass(frozen=True)
class Kept:
    """What the body keeps: names (None: as before the `try`), and objects that it changes."""

    recorder: Recorder
    names: tuple[Kind | None, ...]
    objects: tuple[tuple[Any, Kind], ...]

    def leaves(self, values: tuple[Any, ...]) -> tuple[Arg, ...]:
        """What is to be kept now, if the names hold `values`."""
        named = [(v, kind) for v, kind in zip(values, self.names, strict=True) if kind]
        held = [(with_keys(state_of(obj), kind), kind) for obj, kind in self.objects]
        return tuple(
            leaf for value, kind in (*named, *held) for leaf in flatten(self.recorder, value, kind)
        )

    def new_leaves(self) -> list[Value]:
        """The inputs of a handler that stand for what was kept."""
        kinds = [*(kind for kind in self.names if kind), *(kind for _, kind in self.objects)]
        return [leaf for kind in kinds for leaf in new_leaves(self.recorder, kind)]

    def restore(self, leaves: Sequence[Value], before: tuple[Any, ...], write: Any) -> None:
        """Give names and objects what was kept."""
        given = iter(leaves)
        write(tuple(
            instantiate(self.recorder, kind, given) if kind else value
            for kind, value in zip(self.names, before, strict=True)
        ))  # fmt: skip
        for obj, kind in self.objects:
            put_state(self.recorder, obj, instantiate(self.recorder, kind, given))


def capture_try(
    recorder: Recorder,
    variables: Variables,
    attempt: Attempt,
    body: Callable[[], Any],
    handlers: Sequence[Handler],
) -> Any:
    """Record a `try`; gives whether the body went through, and leaves the names joined."""
    with recorder.names_held(variables.names):
        return _capture_try(recorder, variables, attempt, body, handlers)


def _capture_try(
    recorder: Recorder,
    variables: Variables,
    attempt: Attempt,
    body: Callable[[], Any],
    handlers: Sequence[Handler],
) -> Any:
    before = variables.read()

    def run_body() -> tuple[Any, ...]:
        attempt.scope = recorder.scope
        variables.write(before)
        body()
        return (True, *variables.read())

    recorder.tries += 1
    number = recorder.tries
    attempt.keep = None
    mark = recorder.mark()
    tried = _record_body(recorder, attempt, run_body)
    kept = _kept(recorder, before, attempt)
    if any(kept.names) or kept.objects:
        recorder.rewind(mark)
        attempt.keep = lambda: _keep(recorder, kept, attempt, number)
        tried = _record_body(recorder, attempt, run_body)
    caught = [_Handler(recorder, variables, before, kept, code).record() for _, code in handlers]
    variables.write(before)

    def emit(blocks: list[Block], results: list[Value]) -> None:
        attributes: dict[str, Arg] = {
            "catches": tuple(names for names, _ in handlers),
            "asks": tuple(tuple(handler.asked) for handler in caught),
            "number": number,
        }
        start = kept.leaves(before)
        recorder.emit("stator::try", start, results, attributes=attributes, blocks=blocks)

    sides = [tried, *(handler.recorded for handler in caught)]
    went_through, *values = join_sides(recorder, sides, emit)
    variables.write(tuple(values))
    return went_through


def _keep(recorder: Recorder, kept: Kept, attempt: Attempt, number: int) -> None:
    recorder.emit("stator::keep", kept.leaves(attempt.read()), attributes={"number": number})


class _Handler:
    """One handler, while it is recorded: `%class, %text, *kept, *answers` are its inputs."""

    def __init__(
        self,
        recorder: Recorder,
        variables: Variables,
        before: tuple[Any, ...],
        kept: Kept,
        code: Callable[[CaughtError], Any],
    ) -> None:
        self.recorder, self.variables, self.code = recorder, variables, code
        self.before, self.kept = before, kept
        self.asked: list[tuple[str, ...]] = []
        self.inputs: list[Value] = []
        self.recorded: Any = None

    def record(self) -> _Handler:
        """Record the handler into a block of its own."""
        self.recorded = record_block(self.recorder, self._run)
        self.recorded.scope.block.inputs = tuple(self.inputs)
        return self

    def _run(self) -> tuple[Any, ...]:
        name, text = (self.recorder.new_value(TextType()) for _ in range(2))
        leaves = self.kept.new_leaves()
        self.inputs = [name, text, *leaves]
        self.scope = self.recorder.scope
        self.scope.block.inputs = tuple(self.inputs)
        self.kept.restore(leaves, self.before, self.variables.write)
        self.code(CaughtError(CapturedText(name), CapturedText(text), self._ask))
        return (False, *self.variables.read())

    def _ask(self, names: tuple[str, ...]) -> Any:
        """Is the error of one of these classes? The answer is an input of the handler."""
        if self.scope not in self.recorder.scope.chain():
            raise UnsupportedCall("the caught exception is asked about after its handler",
                                  at=current_place(), fix="ask in the handler")  # fmt: skip
        value = self.recorder.new_value(NumberType("bool"))
        self.inputs.append(value)
        self.asked.append(names)
        number = self.recorder.number("bool", value)
        self.scope.symbols.update(dict.fromkeys(number.node.expr.free_symbols, (value, None)))
        self.scope.numbers[number.node.expr] = value
        return number


def _record_body(recorder: Recorder, attempt: Attempt, code: Callable[[], Any]) -> Recorded:
    attempt.is_recorded, attempt.seen = True, []
    attempt.root = list(recorder.scope.chain())[-1]
    attempt.journal = recorder.journal
    recorder.attempts.append(attempt)
    try:
        return record_block(recorder, code)
    finally:
        recorder.attempts.pop()


def _kept(recorder: Recorder, before: tuple[Any, ...], attempt: Attempt) -> Kept:
    """The kinds that cover what names and objects hold wherever the body may raise."""
    assert attempt.scope is not None
    fresh = recorder.made_in(attempt.scope)
    names = tuple(
        _name_kind(old, [values[k] for values, _ in attempt.seen], fresh)
        for k, old in enumerate(before)
    )
    changed = {key: obj for _, states in attempt.seen for key, (obj, _) in states.items()}
    objects = []
    for key, obj in changed.items():
        old = state_of(obj)
        states = [states[key][1] for _, states in attempt.seen if key in states]
        if not all(same_state(old, state) for state in states):
            kinds = map(generalise, describe_states([old, *states], fresh))
            objects.append((obj, functools.reduce(merge, kinds)))
    return Kept(recorder, names, tuple(objects))


def _name_kind(old: Any, seen: Sequence[Any], fresh: Fresh) -> Kind | None:
    """None where the name always holds what it held before."""
    if all(same_value(old, value) for value in seen):
        return None
    return functools.reduce(merge, (generalise(describe(value, fresh)) for value in (old, *seen)))
