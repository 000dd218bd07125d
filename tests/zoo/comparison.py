"""compare(): is a value what eager gave? Types, structure, dtypes, shapes, numbers, text."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Iterator
from typing import Any

import numpy
import torch

LIMITS = {torch.bfloat16: 1e-2, torch.float16: 1e-3}


def compare(want: Any, got: Any, path: str = "result") -> str | None:
    """None where they are the same, else what differs and where."""
    if isinstance(want, torch.Tensor):
        return _compare_tensor(want, got, path)
    if isinstance(want, enum.Enum):
        return None if want is got else f"{path} is {got!r}, eager has {want!r}"
    if type(want) is not type(got):
        return f"{path} is a {type(got).__name__} ({got!r}), eager has {want!r}"
    if isinstance(want, numpy.ndarray):
        return _compare_tensor(torch.from_numpy(want), torch.from_numpy(got), path)
    parts = children(want)
    if parts is None:
        same = want == got or (isinstance(want, float) and _close(want, got))
        return None if same else f"{path} is {got!r}, eager has {want!r}"
    others = children(got) or ()
    if [key for key, _ in parts] != [key for key, _ in others]:
        return f"{path} is {got!r}, eager has {want!r}"
    found = (compare(a, c, f"{path}[{key!r}]") for (key, a), (_, c) in zip(parts, others))
    return next((text for text in found if text), None)


def children(value: Any) -> list[tuple[Any, Any]] | None:
    """The parts of a container by key, in order; None of anything else."""
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, list | tuple):
        return list(enumerate(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    return None


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """All tensors of a tree, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    for _, item in children(value) or ():
        yield from tensors_in(item)


def _close(want: float, got: float) -> bool:
    return math.isclose(want, got, rel_tol=1e-5, abs_tol=1e-6) or (want != want and got != got)


def _compare_tensor(want: torch.Tensor, got: Any, path: str) -> str | None:
    if not isinstance(got, torch.Tensor):
        return f"{path} is a {type(got).__name__} ({got!r}), eager has a tensor"
    if want.dtype != got.dtype:
        return f"{path} has dtype {got.dtype}, eager has {want.dtype}"
    if want.shape != got.shape:
        return f"{path} has shape {tuple(got.shape)}, eager has {tuple(want.shape)}"
    if want.requires_grad != got.requires_grad:
        return f"{path} has requires_grad={got.requires_grad}, eager has {want.requires_grad}"
    limit = LIMITS.get(want.dtype, 1e-5)
    if torch.allclose(want.detach(), got.detach(), rtol=limit, atol=limit, equal_nan=True):
        return None
    return f"{path} is {got.detach().tolist()}, eager has {want.detach().tolist()}"
