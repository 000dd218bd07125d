"""capture_function: a function that calls itself becomes a function of the program.

The kinds of its arguments and of its result are found as a loop finds its own: record the body with
what is known so far, widen by what comes out and by what it calls itself with, until nothing
changes. As long as no result is known, a call of itself has no value: only other paths give one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stator.capture.blocks import changed_objects, outputs, record_block
from stator.capture.flatten import NOTHING, flatten, instantiate, new_leaves
from stator.capture.recorder import Recorder
from stator.errors import LoopStateChanged, UnsupportedCall
from stator.frames import current_place
from stator.values.describe import describe, generalise, name_of
from stator.values.kinds import BOTTOM, Kind
from stator.values.merge import merge
from stator.values.symbolic import Diverged

ROUNDS = 16


class WiderArguments(BaseException):
    """The function is called with arguments that its kinds do not cover yet: record it again."""


class CapturedFunction:
    """One function of the program, for arguments of one kind."""

    def __init__(self, recorder: Recorder, name: str, args: object) -> None:
        self.recorder, self.name = recorder, name
        self.takes: Kind = generalise(describe(args))
        self.gives: Kind = BOTTOM
        self.is_done = False

    def covers(self, args: object) -> bool:
        """Do these arguments fit without widening?"""
        return merge(self.takes, describe(args)) == self.takes

    def call(self, args: object) -> Any:
        """Record a call; while the function is being captured, new kinds of arguments widen it."""
        if not self.covers(args):
            self.takes = generalise(merge(self.takes, describe(args)))
            raise WiderArguments
        if self.gives == BOTTOM:
            raise Diverged
        results = new_leaves(self.recorder, self.gives)
        given = flatten(self.recorder, args, self.takes)
        self.recorder.emit("stator::call", given, results, attributes={"function": self.name})
        return instantiate(self.recorder, self.gives, iter(results))

    def capture(self, body: Callable[[Any], Any]) -> None:
        """Record `body(args)` until the kinds settle."""
        for _ in range(ROUNDS):
            before = (self.takes, self.gives)
            try:
                self._record(body)
            except WiderArguments:
                continue
            if (self.takes, self.gives) == before and self.gives != BOTTOM:
                self.is_done = True
                return
            if self.gives == BOTTOM:
                break
        raise LoopStateChanged(
            f"`{self.name}` calls itself, and what it takes or gives never settles to one form "
            f"(it gives {name_of(self.gives)})",
            at=current_place(), fix="give every path of it the same dtype, rank and structure",
        )  # fmt: skip

    def _record(self, body: Callable[[object], object]) -> None:
        recorder = self.recorder
        inputs = new_leaves(recorder, self.takes)

        def code() -> Any:
            return body(instantiate(recorder, self.takes, iter(inputs)))

        recorded = record_block(recorder, code, is_function=True)
        if changed_objects([recorded]):
            raise UnsupportedCall(
                f"`{self.name}` calls itself under a condition that only a run knows, and changes "
                "an object that is not its own",
                at=current_place(), fix="pass the value as an argument and return the new one",
            )  # fmt: skip
        if recorded.value is not NOTHING:
            fresh = recorder.provenance.created_since(recorded.scope)
            self.gives = generalise(merge(self.gives, describe(recorded.value, fresh)))
        block = recorded.scope.block
        block.inputs = tuple(inputs)
        block.outputs = tuple(outputs(recorder, recorded.scope, [recorded.value], [self.gives]))
        recorder.functions[self.name] = block
