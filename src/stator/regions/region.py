"""ProgramRegion: a region of a program, run by something else than the backend around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import torch

from stator.location import Location
from stator.program.ir import Op, Value

State = Literal["not called", "compiling", "ready", "failed"]
Ops = Callable[[Sequence[Any]], Sequence[Any]]  # runs the ops of a region: tensors, then integers


class ProgramRegion(Protocol):
    """A region; any number of threads may call it."""

    @property
    def op(self) -> Op:
        """The op of the program."""

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The values that it takes: tensors, then integers."""

    @property
    def failure(self) -> str:
        """Why its ops are run as they are; empty if they are not."""

    @property
    def place(self) -> Location | None:
        """The user's line that it begins at."""

    @property
    def state(self) -> State:
        """How far it is."""

    @property
    def layouts(self) -> int:
        """For how many layouts of its inputs it is ready."""

    def __call__(
        self, tensors: Sequence[torch.Tensor], numbers: Sequence[int]
    ) -> Sequence[torch.Tensor]:
        """The results for these inputs; a number is a tensor without dimensions."""
