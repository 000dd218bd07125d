"""Errors as data: a run gives a status, and the metadata of the model has a message for each.

ONNX has no exceptions. 0 is no error.

The first error of a run counts. Loops end when there is one; other nodes still run, on values that
no one reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import onnx_ir as ir

from stator.export.onnx.scope import GraphScope
from stator.location import Location


@dataclass(frozen=True)
class Message:
    """One error that a model can report."""

    error: str  # the name of a builtin exception, or "SizeCheckFailed"
    text: str
    place: Location | None
    classes: tuple[str, ...] = ()  # that the user wrote
    is_undefined: bool = False  # torch does not check it, and gives what means nothing


@dataclass
class Messages:
    """The errors of one model, by number; the first has number 1."""

    listed: list[Message] = field(default_factory=list)

    def number(self, message: Message) -> int:
        """The number of a message: equal ones have one."""
        if message not in self.listed:
            self.listed.append(message)
        return self.listed.index(message) + 1


def report(scope: GraphScope, number: int) -> None:
    """From here on the status is `number`, unless an error came before."""
    scope.report(scope.int64(number))


def check(scope: GraphScope, holds: ir.Value, number: int) -> None:
    """The status is `number` if the scalar `holds` is false, unless an error came before."""
    scope.pending.append((holds, number))


def is_fine(scope: GraphScope) -> ir.Value:
    """Whether there was no error so far."""
    assert scope.status is not None
    return scope.scalar("Equal", scope.status, scope.int64(0))
