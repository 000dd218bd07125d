"""Listener: follows a capture as it is recorded, without a part in what is recorded.

    joining(("n", "steps"))              a loop, a branch or a `try` begins
      running(scope)                     user code runs into a block; a loop's body may run again
        before(op)                       `op` is about to be recorded
      ...
    ...                                  the names have their joined values

`recorder.listeners` are called in their order. `TryNames` keeps what the names of a `try` hold
where its body may raise, `EffectRecorder` records the effects that precede an op that may raise,
and stepping finds out what the user's names represent.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from stator.capture.scope import Scope
from stator.program.ir import Op


class Listener:
    """Ignores everything; a subclass overrides what it wants to know."""

    def before(self, op: Op, *, may_raise: bool) -> None:
        """`op` is about to be appended to the current block."""

    def running(
        self,
        scope: Scope,  # noqa: ARG002 (for subclasses)
        *,
        is_function: bool,  # noqa: ARG002
        repeats: bool,  # noqa: ARG002
    ) -> contextlib.AbstractContextManager[None]:
        """Entered while user code runs into the block of `scope`; a loop's body `repeats`."""
        return contextlib.nullcontext()

    def joining(
        self,
        written: Sequence[str],  # noqa: ARG002
    ) -> contextlib.AbstractContextManager[None]:
        """Entered around a construct with several paths, which sets the names `written` after.

        Other names that change inside hold what one path has left in them.
        """
        return contextlib.nullcontext()
