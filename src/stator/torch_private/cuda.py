"""torch's memory pools on CUDA devices, many copies at once, and settings that are read quickly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

__all__ = ["allocating_from", "copy_all", "current_stream", "kernel_settings", "release_pool"]

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
    if places:
        torch._foreach_copy_(list(places), list(tensors))


def current_stream(device: int) -> int:
    """The address of the current stream, ten times as fast as a `torch.cuda.Stream` for it."""
    address: int = torch._C._cuda_getCurrentRawStream(device)
    return address


def kernel_settings() -> tuple[object, ...]:
    """What chooses between kernels of torch, beside their inputs."""
    c = torch._C
    return (
        c._get_float32_matmul_precision(), c._get_cudnn_allow_tf32(), c._get_cudnn_benchmark(),
        c._get_cudnn_deterministic(), c._get_deterministic_algorithms(),
    )  # fmt: skip
