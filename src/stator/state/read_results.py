"""Read results: what a read of the outside gave, and whether what it gives now is the same."""

from __future__ import annotations

import operator
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

SCALARS = (bool, int, float, complex, str, bytes, type(None))
TENSOR_FACTS = operator.attrgetter("__class__", "dtype", "device", "requires_grad", "layout")
ANY = object()  # in place of what the program reads again on every run


@dataclass(frozen=True)
class Contents:
    """What a container holds: the very objects, in order."""

    items: tuple[Any, ...]


@dataclass(frozen=True)
class AnyTensor:
    """In the place of a tensor that a read gave: any with these facts will do."""

    facts: Contents

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes that it must have."""
        return tuple(self.facts.items[-2])


def contents(obj: Any) -> Contents:
    """The items of a list, the keys and values of a dict, the members of a set, in their order."""
    if isinstance(obj, Mapping):
        return Contents((*obj, *obj.values()))
    return Contents(tuple(obj))


def unchanged(now: Any, expected: Any) -> bool:
    """Would the captured run have gone the same way with `now`?"""
    if now is expected or expected is ANY:
        return True
    if isinstance(expected, Contents):
        new, old = now.items, expected.items
        same = len(new) == len(old) and all(map(operator.is_, new, old))  # most often, and fast
        return same or (len(new) == len(old) and all(map(unchanged, new, old)))
    if isinstance(expected, AnyTensor):
        return isinstance(now, torch.Tensor) and tensor_facts(now) == expected.facts
    if isinstance(expected, float | complex):
        return type(now) is type(expected) and repr(now) == repr(expected)  # 0.0 is not -0.0
    if isinstance(expected, SCALARS):
        return type(now) is type(expected) and bool(now == expected)
    if isinstance(expected, torch.device):
        return bool(now == expected)
    if type(expected) is tuple:
        return type(now) is tuple and unchanged(Contents(now), Contents(expected))
    return isinstance(expected, types.MethodType) and now == expected


def tensor_facts(tensor: torch.Tensor) -> Contents:
    """What a capture knows of a stored tensor."""
    return Contents((*TENSOR_FACTS(tensor), tuple(tensor.shape), _strides(tensor)))


def _strides(tensor: torch.Tensor) -> tuple[int, ...]:
    return tensor.stride() if tensor.layout is torch.strided else ()
