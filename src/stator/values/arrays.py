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
from stator.frames import current_place
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
                                  at=current_place(), fix="copy it: `a.copy()`")  # fmt: skip
        return tensor.as_strided(value.shape, strides, start // value.itemsize)

    def __iter__(self) -> Iterator[Any]:
        for k in range(len(self.value)):
            row = self.value[k]
            yield KnownArray(row, self.memory) if isinstance(row, numpy.ndarray) else row
