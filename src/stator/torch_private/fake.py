"""Tensors without data."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch._library.utils import has_fake_kernel
from torch._subclasses.fake_tensor import (
    FakeTensor,
    FakeTensorMode,
    in_kernel_invocation_manager,
    unset_fake_temporarily,
)
from torch.fx.experimental.symbolic_shapes import ShapeEnv

__all__ = [
    "LOGGER_NAME",
    "FakeTensor",
    "FakeTensorMode",
    "has_fake_kernel",
    "is_same_memory",
    "new_fake_mode",
    "new_fake_tensor",
    "unset_fake_temporarily",
]

LOGGER_NAME = "torch._subclasses.fake_tensor"  # where torch logs an op that cannot be faked


def is_same_memory(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Do two tensors see the same memory as the same numbers?"""
    first, second = (
        (tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset())
        for tensor in (one, other)
    )
    is_alias = torch._C._is_alias_of(one, other)  # type: ignore[attr-defined]  # not in its stubs
    return first == second and bool(is_alias)


def new_fake_mode(shapes: ShapeEnv) -> FakeTensorMode:
    """A mode whose tensors have no data and take their sizes from `shapes`.

    It does without torch's cache of results: sizes of one capture are never those of another, so
    little is found there, and to make its entries takes up to a third of a capture.
    """
    mode = FakeTensorMode(shape_env=shapes, allow_non_fake_inputs=True)
    mode.cache_enabled = False
    return mode


def new_fake_tensor(
    mode: FakeTensorMode,
    shape: Sequence[int],
    strides: Sequence[int] | None,
    dtype: torch.dtype,
    device: torch.device,
) -> torch.Tensor:
    """A tensor of `mode`, made without a dispatch; contiguous if no `strides` are given."""
    with in_kernel_invocation_manager(mode):
        if strides is None:
            data = torch.empty(shape, dtype=dtype, device="meta")
        else:
            data = torch.empty_strided(shape, strides, dtype=dtype, device="meta")
    return FakeTensor(mode, data, device)
