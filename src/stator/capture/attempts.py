"""capture_try: the body and the handlers of a `try` are recorded, and what they leave is joined.

A handler starts where the body has raised, and only a run knows where that is. So a name that the
body assigns before a point that may raise is lost in the handler (using it is refused), and the
body may change no Python object.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stator.capture.blocks import Recorded, record_block
from stator.capture.branches import join_sides
from stator.capture.kinds import same_value
from stator.capture.loops import Variables
from stator.capture.places import current_place
from stator.capture.recorder import Recorder
from stator.capture.scope import Attempt
from stator.capture.values import Undefined
from stator.errors import UnsupportedCall
from stator.program.ir import Block, Value

Handler = tuple[tuple[str, ...], Callable[[], Any]]  # the classes it catches, and its code


class Lost(Undefined):
    """A name that the body of a `try` may have assigned before it raised, or may not have."""

    def error(self) -> Any:
        """Using it is refused: eager code finds one value or the other there."""
        return UnsupportedCall(
            f"`{self.name}` is used after an exception that only a run knows, and the body of "
            "the `try` assigns it",
            at=current_place(), fix="assign it in the handler, or use another name",
        )  # fmt: skip


def capture_try(
    recorder: Recorder,
    variables: Variables,
    attempt: Attempt,
    body: Callable[[], Any],
    handlers: Sequence[Handler],
) -> Any:
    """Record a `try`; gives whether the body went through, and leaves the names joined."""
    before = variables.read()

    def side(start: tuple[Any, ...], code: Callable[[], Any], went_through: bool) -> Any:
        def run() -> tuple[Any, ...]:
            variables.write(start)
            code()
            return (went_through, *variables.read())

        return run

    tried = _record_body(recorder, attempt, side(before, body, True))
    lost = _after_raise(variables.names, before, attempt)
    caught = [record_block(recorder, side(lost, code, False)) for _, code in handlers]
    variables.write(before)

    def emit(blocks: list[Block], results: list[Value]) -> None:
        catches = tuple(names for names, _ in handlers)
        recorder.emit("stator::try", (), results, attributes={"catches": catches}, blocks=blocks)

    went_through, *values = join_sides(recorder, [tried, *caught], emit)
    variables.write(tuple(values))
    return went_through


def _record_body(recorder: Recorder, attempt: Attempt, code: Callable[[], Any]) -> Recorded:
    attempt.is_recorded, attempt.seen = True, []
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


def _after_raise(
    names: tuple[str, ...], before: tuple[Any, ...], attempt: Attempt
) -> tuple[Any, ...]:
    """What the names hold in a handler: as before, if nothing that may raise follows a change."""
    return tuple(
        old if all(same_value(old, seen[k]) for seen in attempt.seen) else Lost(name)
        for k, (name, old) in enumerate(zip(names, before, strict=True))
    )
