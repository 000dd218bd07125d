"""Tensors without data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._library.utils import has_fake_kernel
from torch._subclasses.fake_tensor import (
    FakeTensor,
    FakeTensorMode,
    in_kernel_invocation_manager,
    unset_fake_temporarily,
)
from torch.autograd.function import _SingleLevelFunction
from torch.fx.experimental.symbolic_shapes import ShapeEnv

__all__ = [
    "LOGGER_NAME",
    "FakeTensor",
    "FakeTensorMode",
    "connected",
    "has_fake_kernel",
    "is_alias",
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
    return first == second and is_alias(one, other)


def is_alias(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Do two tensors share memory?"""
    return bool(torch._C._is_alias_of(one, other))  # type: ignore[attr-defined]  # not in its stubs


class CapturingFakeMode(FakeTensorMode):
    """A mode that uses torch's cache of results only for ops on tensors of known sizes.

    Sizes of one capture are never those of another, so nothing is found for them, and to make keys
    and entries of them takes up to a third of a capture.
    """

    def _cached_dispatch_impl(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if any(map(_is_symbolic, args)) or any(map(_is_symbolic, kwargs.values())):
            return self._dispatch_impl(func, types, args, kwargs)
        return super()._cached_dispatch_impl(func, types, args, kwargs)


def _is_symbolic(arg: object) -> bool:
    if isinstance(arg, torch.Tensor):
        return arg._has_symbolic_sizes_strides
    if isinstance(arg, list | tuple):
        return any(map(_is_symbolic, arg))
    return isinstance(arg, torch.SymInt | torch.SymFloat | torch.SymBool)


def new_fake_mode(shapes: ShapeEnv) -> FakeTensorMode:
    """A mode whose tensors have no data and take their sizes from `shapes`."""
    return CapturingFakeMode(shape_env=shapes, allow_non_fake_inputs=True)


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


class _Connected(_SingleLevelFunction):  # a capture replaces `Function.apply`
    """An op whose result `make` makes."""

    @staticmethod
    def forward(_ctx: Any, make: Callable[[], torch.Tensor], *_sources: torch.Tensor) -> Any:
        return make()


def connected(make: Callable[[], torch.Tensor], sources: Sequence[torch.Tensor]) -> torch.Tensor:
    """What `make` makes, as a tensor that autograd takes to be computed from `sources`."""
    result: torch.Tensor = _Connected.apply(make, *sources)  # type: ignore[attr-defined]  # of C++
    return result
