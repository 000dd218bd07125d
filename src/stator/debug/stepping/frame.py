"""Frame: one stop of a run, as a callback and the prompt see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from typing import Literal as OneOf

from stator.debug.stepping.trail import TrailLine
from stator.execute.observing import Seen
from stator.location import Location
from stator.program.ir import Op
from stator.program.printer import print_op

Why = OneOf["line", "op", "breakpoint", "watch", "error", "end"]


class Quit(BaseException):
    """The user has had enough: the `with` of the stepper ends."""


@dataclass(frozen=True)
class Way:
    """How a run goes on: where it is to stop next."""

    kind: OneOf["step", "next_line", "over", "out", "resume"]
    depth: int = 0  # how many functions run around the one where it is
    level: int = 0  # how many ops with blocks are open


@dataclass(frozen=True)
class Frame:
    """Where a run has stopped: a source line, and the op that is about to run.

    `step`, `next_line`, `over`, `out` and `resume` choose how to continue after the callback. The
    last choice counts; without one, the run continues to the next breakpoint.
    """

    op: Op | None  # None where the program ends
    why: Why
    lines: tuple[TrailLine, ...]  # of the functions that run, the outermost first
    depth: int  # which of these the stop is about
    level: int
    error: BaseException | None  # what `op` has raised, where that is why it stops
    changed: tuple[str, ...]  # the watched names that hold something else now
    seen: Seen = field(repr=False)
    go: Callable[[Way], None] = field(repr=False)

    @property
    def line(self) -> TrailLine:
        """The line that the stop is about."""
        return self.lines[self.depth]

    @property
    def place(self) -> Location:
        """Where that line is."""
        return self.line.place

    @property
    def variables(self) -> Mapping[str, Any]:
        """What the names of that function hold, before the line runs."""
        return self.line.variables

    @property
    def iterations(self) -> tuple[int, ...]:
        """The iterations of the program's loops around it, the outermost first; the first is 1."""
        return self.line.iterations

    @property
    def values(self) -> dict[str, Any]:
        """The values of the program that are there, under the names that its text has."""
        return {f"%{value.name}": held for value, held in self.seen.items()}

    def where(self) -> tuple[TrailLine, ...]:
        """The functions that run, the outermost first, each with its line, loops and branches."""
        return self.lines[: self.depth + 1]

    def step(self) -> None:
        """Stop at the next op."""
        self.go(Way("step"))

    def next_line(self) -> None:
        """Stop at the next line of this function, or of the one that called it."""
        self.go(Way("next_line", self.depth))

    def over(self) -> None:
        """Stop at the next line that is not inside a loop or a branch that begins here."""
        self.go(Way("over", self.depth, self.level))

    def out(self) -> None:
        """Stop when the loop, the branch or the function that this is in is over."""
        self.go(Way("out", self.depth, self.level))

    def resume(self) -> None:
        """Stop at the next breakpoint."""
        self.go(Way("resume"))

    def __str__(self) -> str:
        text = f"> {self.line}"
        if self.op is not None:
            text += f"\n    {print_op(self.op)}"
        if self.error is not None:
            text += f"\n    raises {type(self.error).__name__}: {self.error}"
        return text
