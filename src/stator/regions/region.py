"""ProgramRegion: a region of a program, run by something else than the backend around it."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch

from stator.location import Location
from stator.program.ir import Op, Value
from stator.program.regions import tensors_first
from stator.program.types import TensorType

State = Literal["not called", "compiling", "ready", "failed"]
Ops = Callable[[Sequence[Any]], Sequence[Any]]  # runs the ops of a region: tensors, then integers


@dataclass(eq=False)
class ProgramRegion(abc.ABC):
    """A region; any number of threads may call it."""

    op: Op
    ops: Ops  # runs it as it is
    failure: str = field(default="", init=False)  # why its ops are run as they are

    def __post_init__(self) -> None:
        self.inputs: tuple[Value, ...] = tensors_first(self.op)  # tensors, then integers
        self.types = tuple(v.type for v in self.inputs if isinstance(v.type, TensorType))

    @property
    def place(self) -> Location | None:
        """The user's line that it begins at."""
        return self.op.place

    @property
    @abc.abstractmethod
    def state(self) -> State:
        """How far it is."""

    @property
    @abc.abstractmethod
    def layouts(self) -> int:
        """For how many layouts of its inputs it is ready."""

    @abc.abstractmethod
    def __call__(
        self, tensors: Sequence[torch.Tensor], numbers: Sequence[int]
    ) -> Sequence[torch.Tensor]:
        """The results for these inputs; a number is a tensor without dimensions."""
