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

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from stator.program.ir import Block, Op, Value

Seen = Mapping[Value, Any]  # what the values of one activation are at that moment


class RunStop(BaseException):
    """Ends a run from an observer, because of `error`.

    NOTE: no `Exception`: a `try` of the program would catch it.
    """

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Observer:
    """Given to `prepare`; raises `RunStop` to end a run. Subclasses override what they need."""

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


class RunLimit(Observer):
    """Ends a run that has too many ops, or takes too many seconds from now on."""

    def __init__(self, *, ops: float = math.inf, seconds: float = math.inf) -> None:
        self._ops, self._end_time = ops, time.monotonic() + seconds

    def begin(self, op: Op, values: Seen) -> None:
        """One more op."""
        del op, values
        self._ops -= 1
        if self._ops < 0 or time.monotonic() > self._end_time:
            raise RunStop(TimeoutError("the run takes too long"))


class ExchangedObserver(Observer):
    """Hands everything on to `observer`, which may be another one for each run."""

    observer: Observer | None = None

    def begin(self, op: Op, values: Seen) -> None:
        """To the observer."""
        if self.observer is not None:
            self.observer.begin(op, values)

    def enter(self, block: Block, values: Seen) -> None:
        """To the observer."""
        if self.observer is not None:
            self.observer.enter(block, values)

    def leave(self, block: Block, values: Seen) -> None:
        """To the observer."""
        if self.observer is not None:
            self.observer.leave(block, values)

    def end(self, op: Op, values: Seen, results: Sequence[Any]) -> None:
        """To the observer."""
        if self.observer is not None:
            self.observer.end(op, values, results)

    def fail(self, op: Op, error: BaseException) -> None:
        """To the observer."""
        if self.observer is not None:
            self.observer.fail(op, error)
