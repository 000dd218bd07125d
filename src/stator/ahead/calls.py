"""RegionCalls: a region that keeps the calls which example runs make of it, one for each layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from stator.inductor.layouts import RegionLayout, layout_of
from stator.regions.region import ProgramRegion, State
from stator.torch_private.dispatch import is_plain_call

MOST_LAYOUTS = 4  # libraries for one region
MOST_CALLS = 4  # that are kept for a layout, to compare


@dataclass(frozen=True)
class RegionCall:
    """What a region was called with."""

    tensors: tuple[torch.Tensor, ...]
    numbers: tuple[int, ...]


@dataclass(eq=False)
class RegionCalls(ProgramRegion):
    """A region that runs its ops, and keeps what it was called with."""

    calls: dict[RegionLayout, list[RegionCall]] = field(default_factory=dict)
    state: State = "not called"
    layouts: int = 0

    def __call__(
        self, tensors: Sequence[torch.Tensor], numbers: Sequence[int]
    ) -> Sequence[torch.Tensor]:
        """The results of the ops."""
        if is_plain_call(tensors) and all(tensor.numel() for tensor in tensors):
            self._keep(tensors, numbers)
        return self.ops([*tensors, *numbers])

    def _keep(self, tensors: Sequence[torch.Tensor], numbers: Sequence[int]) -> None:
        layout = layout_of(self.types, tensors, numbers, gradients=False)
        if layout not in self.calls and len(self.calls) >= MOST_LAYOUTS:
            return
        known = self.calls.setdefault(layout, [])
        shapes = [tensor.shape for tensor in tensors]
        is_new = all([t.shape for t in one.tensors] != shapes for one in known)
        if is_new and len(known) < MOST_CALLS:
            # a copy that is laid out like it: later ops may write to the original's memory
            copies = tuple(_copied(tensor) for tensor in tensors)
            known.append(RegionCall(copies, tuple(numbers)))


def _copied(tensor: torch.Tensor) -> torch.Tensor:
    made = torch.empty_strided(
        tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
    )
    return made.copy_(tensor.detach()) if _is_dense(tensor) else tensor.detach()


def _is_dense(tensor: torch.Tensor) -> bool:
    """Whether no two elements are in one place of memory."""
    return all(
        stride or size == 1 for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
    )
