"""capture_try: the body and the handlers of a `try` are recorded, and what they leave is joined.

A handler starts where the body has raised, and only a run knows where that is. So the body is
recorded twice: the first time shows what its names hold wherever it may raise; the second time it
keeps (`stator::keep`) what they hold there, and a handler is given what was kept last. The body may
change no Python object.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from stator.capture.blocks import Recorded, record_block
from stator.capture.branches import join_sides
from stator.capture.carry import flatten, instantiate, new_leaves
from stator.capture.kinds import Kind, always, describe, generalise, merge, same_value
from stator.capture.loops import Variables
from stator.capture.places import current_place
from stator.capture.recorder import Recorder
from stator.capture.scope import Attempt
from stator.capture.values import CapturedText, CaughtError
from stator.errors import UnsupportedCall
from stator.program.ir import Arg, Block, Value
from stator.program.types import NumberType, TextType

Handler = tuple[tuple[str, ...], Callable[[CaughtError], Any]]  # what it catches, and its code


def capture_try(
    recorder: Recorder,
    variables: Variables,
    attempt: Attempt,
    body: Callable[[], Any],
    handlers: Sequence[Handler],
) -> Any:
    """Record a `try`; gives whether the body went through, and leaves the names joined."""
    before = variables.read()

    def run_body() -> tuple[Any, ...]:
        variables.write(before)
        body()
        return (True, *variables.read())

    recorder.tries += 1
    number = recorder.tries
    attempt.keep = None
    mark = recorder.mark()
    tried = _record_body(recorder, attempt, run_body)
    kept = _kept(before, attempt)
    if any(kept):
        recorder.rewind(mark)
        attempt.keep = _keeping(recorder, attempt, kept, number)
        tried = _record_body(recorder, attempt, run_body)
    caught = [_Handler(recorder, variables, before, kept, code).record() for _, code in handlers]
    variables.write(before)

    def emit(blocks: list[Block], results: list[Value]) -> None:
        attributes: dict[str, Arg] = {
            "catches": tuple(names for names, _ in handlers),
            "asks": tuple(tuple(handler.asked) for handler in caught),
            "number": number,
        }
        start = _leaves(recorder, before, kept)
        recorder.emit("stator::try", start, results, attributes=attributes, blocks=blocks)

    sides = [tried, *(handler.recorded for handler in caught)]
    went_through, *values = join_sides(recorder, sides, emit)
    variables.write(tuple(values))
    return went_through


class _Handler:
    """One handler, while it is recorded: `%class, %text, *kept, *answers` are its inputs."""

    def __init__(
        self,
        recorder: Recorder,
        variables: Variables,
        before: tuple[Any, ...],
        kept: Sequence[Kind | None],
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
        leaves = [leaf for kind in self.kept if kind for leaf in new_leaves(self.recorder, kind)]
        self.inputs = [name, text, *leaves]
        self.scope = self.recorder.scope
        self.scope.block.inputs = tuple(self.inputs)
        given = iter(leaves)
        self.variables.write(tuple(
            instantiate(self.recorder, kind, given) if kind else value
            for kind, value in zip(self.kept, self.before, strict=True)
        ))  # fmt: skip
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
    attempt.cleanups = len(recorder.cleanups)
    recorder.attempts.append(attempt)
    try:
        recorded = record_block(recorder, code)
    finally:
        recorder.attempts.pop()
    if recorded.changed:
        raise UnsupportedCall(
            "a list, dict or attribute is changed in a `try` whose exception only a run knows",
            at=current_place(), fix="change it after the `try`",
        )  # fmt: skip
    return recorded


def _kept(before: tuple[Any, ...], attempt: Attempt) -> list[Kind | None]:
    """For each name, the kind that covers what it holds where the body may raise.

    None where that is always what it held before.
    """
    return [
        None
        if all(same_value(old, seen[k]) for seen in attempt.seen)
        else functools.reduce(merge, [_kind(old), *(_kind(seen[k]) for seen in attempt.seen)])
        for k, old in enumerate(before)
    ]


def _kind(value: Any) -> Kind:
    return generalise(describe(value, always))


def _keeping(
    recorder: Recorder, attempt: Attempt, kept: Sequence[Kind | None], number: int
) -> Callable[[], None]:
    def keep() -> None:
        leaves = _leaves(recorder, attempt.read(), kept)
        recorder.emit("stator::keep", leaves, attributes={"number": number})

    return keep


def _leaves(
    recorder: Recorder, values: tuple[Any, ...], kept: Sequence[Kind | None]
) -> tuple[Arg, ...]:
    return tuple(
        leaf
        for value, kind in zip(values, kept, strict=True)
        if kind
        for leaf in flatten(recorder, value, kind)
    )
