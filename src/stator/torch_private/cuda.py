"""torch's memory pools on CUDA devices, and many copies at once, which have no public names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

__all__ = ["allocating_from", "copy_all", "release_pool"]

Pool = tuple[int, int]


@contextmanager
def allocating_from(device: int, pool: Pool) -> Iterator[None]:
    """What the current stream allocates comes from `pool`, until `release_pool`."""
    torch._C._cuda_beginAllocateCurrentStreamToPool(device, pool)
    try:
        yield
    finally:
        torch._C._cuda_endAllocateToPool(device, pool)


def release_pool(device: int, pool: Pool) -> None:
    """`pool` may be freed: what was recorded with it is not run any more."""
    torch._C._cuda_releasePool(device, pool)


def copy_all(tensors: Sequence[torch.Tensor], places: Sequence[torch.Tensor]) -> None:
    """Copy each tensor to its place, with few launches."""
    torch._foreach_copy_(list(places), list(tensors))
