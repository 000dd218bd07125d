"""Observer: receives what a run does, op by op, as it does it.

    begin %17 = stator::while(...)
      enter its body                     for each iteration; an `if` enters the side that it takes
        begin %6 = aten::remainder(...)
        end   %6
        ...
      leave it
    end %17

An op that raises ends with `fail` instead of `end`, those around it too, up to the `try` that
catches. A function of the program is entered between the `begin` and the `end` of its
`stator::call`. The block of a hook or of a gradient is entered later, when gradients are computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from stator.program.ir import Block, Op, Value

Seen = Mapping[Value, Any]  # what the values of one activation are at that moment


class RunStop(BaseException):
    """Ends a run from an observer, because of `error`.

    NOTE: no `Exception`: a `try` of the program would catch it.
    """

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Observer(Protocol):
    """Give one to `prepare`; it raises `RunStop` to end a run."""

    def begin(self, op: Op, values: Seen) -> None:
        """`op` is about to run on these values."""

    def enter(self, block: Block, values: Seen) -> None:
        """`block` is about to run: its inputs are among the values."""

    def leave(self, block: Block, values: Seen) -> None:
        """`block` has run to its end: all that it has made and not released is there still."""

    def end(self, op: Op, values: Seen, results: Sequence[Any]) -> None:
        """`op` has run; its results are not among the values yet."""

    def fail(self, op: Op, error: BaseException) -> None:
        """`op` has raised."""
