"""Checks that torch does in C++ for its own compiler: modes, tensors, whether dicts were written.

Each of them is a short cut. Where one says "as before", nothing has changed; where it says no,
the caller compares the long way, by public means. So a check that says no too often costs time
and is never wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from stator.torch_private.checks import (
    GlobalStateGuard,
    GuardManager,
    RootGuardManager,
    TensorGuards,
    dict_version,
    plain_guard_manager,
)

Sizes = Sequence[Sequence[int | str | None]]

# the number of the last write to a dict, which no other write has
version_of: Callable[[dict[Any, Any]], int] = dict_version


def modes_check() -> Callable[[], bool]:
    """Are grad mode, autocast, the default dtype and the determinism flags what they are now?

    Inference mode is not among them: `tensors_check` sees it.
    """
    check: Callable[[], bool] = GlobalStateGuard().check
    return check


def tensors_check(tensors: Sequence[torch.Tensor], sizes: Sizes) -> Callable[..., bool]:
    """Is each tensor of the class, dtype, device, layout and requires_grad of this one?

    A size of None may be anything, and then the strides of that tensor too. The check takes as
    many tensors as it was made from; it says no where one comes twice.
    """
    strides: Any = [
        [None] * tensor.dim() if None in shape else list(tensor.stride())
        for tensor, shape in zip(tensors, sizes, strict=True)
    ]
    shapes: Any = [list(shape) for shape in sizes]
    check: Callable[..., bool] = TensorGuards(
        *tensors, dynamic_dims_sizes=shapes, dynamic_dims_strides=strides
    ).check
    return check


class DictVersions:
    """Which of many dicts have been written since."""

    def __init__(self, dicts: Sequence[dict[Any, Any]]) -> None:
        self._noted = tuple((one, version_of(one)) for one in dicts)

    def written(self) -> list[dict[Any, Any]]:
        """Those that have been."""
        return [one for one, version in self._noted if version_of(one) != version]


def versions_check(dicts: Sequence[dict[object, object]]) -> Callable[[], bool]:
    """Has none of these been written since now? One call for all of them."""
    kept, root = tuple(dicts), RootGuardManager()
    plain = plain_guard_manager()
    for place, one in enumerate(kept):
        item: GuardManager = root.tuple_getitem_manager(
            key=place, source="", example_value=one, guard_manager_enum=plain
        )
        item.add_dict_version_guard(one, [""], None)
    return lambda: root.check(kept)
