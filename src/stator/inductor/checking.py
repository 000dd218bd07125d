"""agree(): whether compiled code gives what the ops give, within the tolerance of a dtype.

Compiled code fuses ops: it rounds at other places, and keeps half-precision intermediates in
single precision. The first run of each compiled region is held against the ops themselves, in the
forward and in the backward pass; beyond these tolerances, the region runs uncompiled from then on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import torch

# relative to the value, and to the largest value of the tensor
TOLERANCES: Mapping[torch.dtype, tuple[float, float]] = MappingProxyType(
    {
        torch.float64: (1e-9, 1e-10),
        torch.float32: (1e-3, 1e-4),
        torch.float16: (1e-2, 1e-2),
        torch.bfloat16: (5e-2, 5e-2),
    }
)


def agree(found: Sequence[torch.Tensor | None], expected: Sequence[torch.Tensor | None]) -> bool:
    """Whether all tensors agree in dtype, sizes and values."""
    return len(found) == len(expected) and all(map(_agrees, found, expected))


def _agrees(found: torch.Tensor | None, expected: torch.Tensor | None) -> bool:
    if found is None or expected is None:
        return found is expected
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return False
    if found.dtype not in TOLERANCES:
        return torch.equal(found, expected)
    relative, of_largest = TOLERANCES[found.dtype]
    finite = expected.detach()[torch.isfinite(expected)]
    largest = float(finite.abs().max()) if finite.numel() else 0.0
    return torch.allclose(found, expected, rtol=relative, atol=of_largest * largest, equal_nan=True)


def same_strides(found: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]) -> bool:
    """Whether the strides are equal; those of dimensions of size 1 do not matter."""
    return all(
        size == 1 or one == other
        for a, b in zip(found, expected, strict=True)
        for size, one, other in zip(a.shape, a.stride(), b.stride(), strict=True)
    )


def share_memory(tensors: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> bool:
    """Whether two of `tensors`, or one of them and one of `others`, are in the same storage."""
    places = [tensor.untyped_storage().data_ptr() for tensor in tensors if tensor.numel()]
    taken = {tensor.untyped_storage().data_ptr() for tensor in others}
    return len(set(places)) < len(places) or any(place in taken for place in places)
