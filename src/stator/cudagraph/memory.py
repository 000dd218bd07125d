"""The tensors behind what a recorder computes with: which share memory, and which are alike."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from stator.cudagraph.numbers import DeviceNumber
from stator.cudagraph.views import DeviceView
from stator.program.ir import Value


class NotRecorded(Exception):  # why, in the words of a failure
    """A region cannot be recorded for the layout of a call."""


def plain(value: Any) -> Any:
    """A tensor for what may be a view by a number of the device; lists are opened."""
    if isinstance(value, DeviceView):
        return value.read()
    return [plain(one) for one in value] if isinstance(value, list) else value


def is_one_number(first: Any, second: Any) -> bool:
    """Whether both are the same number, which the host has."""
    return isinstance(first, bool | int) and first is second


def is_plain_layout(tensors: Sequence[Any]) -> bool:
    """Whether all tensors are contiguous, so that a new result would be."""
    return all(one.is_contiguous() for one in tensors if isinstance(one, torch.Tensor))


def tensors_in(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    """The tensors behind values of the program."""
    for value in values:
        if isinstance(value, DeviceNumber | DeviceView):
            yield value.tensor
        elif isinstance(value, torch.Tensor):
            yield value


def memory_of(tensor: torch.Tensor) -> int:
    """Where the memory of a tensor begins."""
    return tensor.untyped_storage().data_ptr()


def share(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors are in the same memory."""
    return memory_of(one) == memory_of(other)


def check_apart(tensors: Sequence[torch.Tensor]) -> None:
    """Two new tensors that a caller sees are not one."""
    for one, other in itertools.combinations(tensors, 2):
        if share(one, other):
            raise NotRecorded("two results may be in the same memory")


def check_same(one: torch.Tensor, other: torch.Tensor, value: Value) -> None:
    """What two paths give for a value has the same layout."""
    if one.shape != other.shape or one.dtype != other.dtype:
        raise NotRecorded(f"%{value.name} has another size or dtype on each path")
    if one.stride() != other.stride():
        raise NotRecorded(f"%{value.name} has another memory layout on each path")
