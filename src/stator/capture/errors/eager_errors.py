"""eager_error(): what an op that cannot be recorded would raise on real tensors.

Torch's rules for tensors without data check less, or in other words and classes, than its kernels:
`torch.stack([])` is an AssertionError there and a RuntimeError in eager code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from stator.torch_private.dispatch import disable_current_modes
from stator.torch_private.trees import tree_leaves, tree_map_only
from stator.values.symbolic import Number

LARGEST = 1 << 20  # elements: a larger tensor is not made for the sake of a message


def eager_error(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Exception | None:
    """The error of `func` on zeros of these sizes; None if it has none, or a size is open."""
    leaves = tree_leaves((args, kwargs))
    if any(isinstance(leaf, Number) for leaf in leaves):
        return None
    if not all(_is_small(leaf) for leaf in leaves if isinstance(leaf, torch.Tensor)):
        return None
    with disable_current_modes(), torch.no_grad():
        real_args, real_kwargs = tree_map_only(torch.Tensor, _zeros_like, (args, kwargs))
        try:
            func(*real_args, **real_kwargs)
        except Exception as error:  # noqa: BLE001  # whatever eager raises is the answer
            return error
    return None


def _is_small(tensor: torch.Tensor) -> bool:
    fixed = not any(isinstance(size, torch.SymInt) for size in tensor.shape)
    return fixed and tensor.layout == torch.strided and tensor.numel() <= LARGEST


def _zeros_like(tensor: torch.Tensor) -> torch.Tensor:
    return torch.zeros(tuple(tensor.shape), dtype=tensor.dtype, device=tensor.device)
