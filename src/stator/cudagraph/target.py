"""GraphTarget: what records ops so that they can be run again, without Python and without the host.

While a target records, the ops of torch that are called become part of the recording. They work on
fixed memory: a replay runs them again on the same tensors, whatever these hold by then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import torch

Result = TypeVar("Result")


class GraphRecording(Protocol):
    """Recorded ops. The memory that they use is kept as long as the recording is."""

    def replay(self) -> None:
        """Run the ops again."""


class GraphTarget(Protocol):
    """Records ops, branches and loops."""

    def record(self, ops: Callable[[], Result]) -> tuple[GraphRecording, Result]:
        """A recording of the ops that `ops` calls, and what it gives."""

    def call(
        self,
        code: Callable[[list[torch.Tensor]], Sequence[torch.Tensor]],
        given: Sequence[torch.Tensor],
    ) -> list[torch.Tensor]:
        """Record a run of compiled code, which may write to what it is given."""

    def branch(
        self, condition: torch.Tensor, then: Callable[[], None], orelse: Callable[[], None] | None
    ) -> None:
        """Record both; a replay runs one of them, by the bool that `condition` holds then."""

    def loop(self, condition: torch.Tensor, body: Callable[[], None]) -> None:
        """Record `body`; a replay runs it as long as `condition` holds, which `body` writes to."""
