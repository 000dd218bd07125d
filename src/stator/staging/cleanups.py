"""`finally` and the end of `with`: they run at every end of their body, raising or not.

A program has no way to run them after a raise of its own; so where one may happen, they must do
nothing that could be seen.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from stator.capture.places import current_place
from stator.capture.scope import Cleanup
from stator.errors import UnsupportedCall
from stator.program.ir import Op
from stator.program.ops import EFFECTS
from stator.program.registry import resolve
from stator.staging.session import Session


class StagedCleanup(Cleanup):
    """One `try ... finally`, or one `with` of a user's manager."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session

    def __enter__(self) -> StagedCleanup:
        self.session.recorder.cleanups.append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        self.session.recorder.cleanups.remove(self)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """The cleaning up itself."""
        block = self.session.recorder.scope.block
        before, failing = len(block.ops), sys.exc_info()[0] is not None
        yield
        if self.raises and not failing and any(map(_can_be_seen, block.ops[before:])):
            raise UnsupportedCall(
                "what `finally` or the end of a `with` does would be left out when the program "
                "raises inside",
                at=current_place(), fix="raise before the `try` or the `with`",
            )  # fmt: skip


def _can_be_seen(op: Op) -> bool:
    """Does `op`, or one inside it, print or write?"""
    if op.name in EFFECTS or any(_can_be_seen(o) for block in op.blocks for o in block.ops):
        return True
    return not op.name.startswith("stator::") and resolve(op.name)._schema.is_mutable
