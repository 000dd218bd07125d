"""CapturedArray: a numpy array in converted code, which is a captured tensor.

A `KnownArray` is one whose contents depend on nothing captured: numpy computes with them. It stays
known until something takes its tensor, which may then be written to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import torch

from stator.errors import UnsupportedCall
from stator.torch_private import numpy_layer

CapturedArray: Any = numpy_layer.ndarray


class ArrayMemory:
    """The memory that an array and its views share."""

    def __init__(self, root: numpy.ndarray[Any, Any], tensor: torch.Tensor) -> None:
        self.root, self.tensor = root, tensor
        self.is_known = True


class KnownArray(CapturedArray):  # type: ignore[misc]  # torch's class has no types
    """An array that numpy can compute with; its `value` is read-only."""

    def __init__(self, value: numpy.ndarray[Any, Any], memory: ArrayMemory) -> None:
        value.flags.writeable = False
        self.value, self.memory = value, memory

    @property
    def tensor(self) -> torch.Tensor:
        """The captured tensor: from now on its contents are those of the program."""
        self.memory.is_known = False
        return self.view_of(self.memory.tensor)

    def view_of(self, tensor: torch.Tensor) -> torch.Tensor:
        """The part of `tensor`, which has the whole memory, that this array is."""
        value, root = self.value, self.memory.root
        if value is root:
            return tensor
        start = value.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        strides = [stride // value.itemsize for stride in value.strides]
        if value.dtype != root.dtype or any(stride < 0 for stride in strides):
            raise UnsupportedCall("a reversed view of a numpy array is used as a tensor",
                                  fix="copy it: `a.copy()`")  # fmt: skip
        return tensor.as_strided(value.shape, strides, start // value.itemsize)

    def __iter__(self) -> Iterator[Any]:
        return map(self.item_now, range(len(self.value)))

    def item_now(self, at: int) -> Any:
        """Item `at`: a row, or a number, which the program has once something may have written."""
        if self.value.ndim > 1:
            return KnownArray(self.value[at], self.memory)
        return self.value[at] if self.memory.is_known else array_item(self.tensor[at], at)


def array_item(item: torch.Tensor, key: object) -> Any:
    """What `array[key]` gives, whose tensor has `item` there: a number is a copy, and no view."""
    is_view = item.dim() or any(part is ... for part in (key if type(key) is tuple else (key,)))
    return CapturedArray(item if is_view else item.clone())


class ReversedArray(CapturedArray):  # type: ignore[misc]  # torch's class has no types
    """A view with a negative step, or a part of one: no tensor is such a view.

    It is read from its source at each use, so that writes to the source are seen; it cannot be
    written to itself.
    """

    def __init__(self, source: Any, key: Any) -> None:
        self.source, self.key = source, key

    @property
    def tensor(self) -> torch.Tensor:
        """A copy of what the view shows now."""
        return _read_backwards(self.source.tensor, self.key)

    def refuse_write(self, name: str | None = None) -> None:
        """Raise, unless `name` is a method that only reads, or copies."""
        if name not in COPYING:
            raise UnsupportedCall("a reversed view of a numpy array is written to, or viewed",
                                  fix="copy it: `a.copy()`")  # fmt: skip


COPYING = frozenset({
    "all", "any", "argmax", "argmin", "argsort", "astype", "copy", "cumprod", "cumsum", "dot",
    "item", "max", "mean", "min", "nonzero", "prod", "round", "std", "sum", "tolist", "var",
})  # fmt: skip


def is_reversed(array: object, key: object) -> bool:
    """Is `array[key]` a view that no tensor can be? Only slices and numbers make views."""
    parts = key if isinstance(key, tuple) else (key,)
    if not all(isinstance(part, slice | int) and not isinstance(part, bool) for part in parts):
        return False
    if isinstance(array, ReversedArray):  # an item of it is no view
        return len(parts) < array.ndim or any(isinstance(part, slice) for part in parts)
    return any(map(_is_backwards, parts))


def _is_backwards(part: object) -> bool:
    return isinstance(part, slice) and isinstance(part.step, int) and part.step < 0


def _read_backwards(tensor: torch.Tensor, key: Any) -> torch.Tensor:
    """`tensor[key]`, where `key` may have negative steps."""
    parts = list(key) if isinstance(key, tuple) else [key]
    for dim, part in enumerate(parts):
        if _is_backwards(part):
            tensor, parts[dim] = _backwards(tensor, dim, part), slice(None)
    return tensor[tuple(parts)]


def _backwards(tensor: torch.Tensor, dim: int, part: slice) -> torch.Tensor:
    """The items that a slice with a negative step takes, in its order."""
    size, whole = tensor.shape[dim], (slice(None),) * dim
    if part.start is None and part.stop is None:
        return tensor.flip(dim)[(*whole, slice(None, None, -part.step))]
    if not all(isinstance(one, int | None) for one in (size, part.start, part.stop)):
        raise UnsupportedCall("a numpy array is sliced with a negative step and captured bounds",
                              fix="use the torch function `flip`")  # fmt: skip
    taken = range(*part.indices(size))
    if not taken:
        return tensor[(*whole, slice(0, 0))]
    return tensor[(*whole, slice(taken[-1], taken[0] + 1, -part.step))].flip(dim)
