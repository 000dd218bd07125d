"""Indexing a tensor by captured numbers: each becomes a `select`, as an integer does in eager."""

from __future__ import annotations

import operator
from typing import Any

import numpy
import torch

from stator.errors import UnsupportedCall
from stator.values.annotations import Staged
from stator.values.arrays import CapturedArray
from stator.values.staged import StagedList
from stator.values.union import Union


def read_tensor(tensor: torch.Tensor, key: Staged, written: Staged = None) -> torch.Tensor:
    """`tensor[key]`; torch itself takes symbolic numbers in slices only.

    `written` is the index as the user has it, where that may be a tensor: for the text of an error.
    """
    key = _bytes_as(torch.bool, key)
    if _is_single_truth(key):
        return tensor[None][key[None]]
    parts = key if isinstance(key, tuple) else (key,)
    if not any(isinstance(part, torch.SymInt) for part in parts):
        return tensor[key]
    read = _dimensions(tuple(part for part in parts if part is not Ellipsis))
    if read > tensor.dim() and isinstance(written, torch.Tensor | tuple):
        raise IndexError(f"too many indices for tensor of dimension {tensor.dim()}")
    selected, rest = _selected(tensor, parts)
    return selected[tuple(rest)] if rest else selected


def _selected(tensor: torch.Tensor, parts: tuple[Staged, ...]) -> tuple[torch.Tensor, list[Staged]]:
    """The part of `tensor` that the captured numbers among `parts` pick; and the other parts."""
    rest: list[Any] = []
    dimension = 0
    for position, part in enumerate(parts):
        if isinstance(part, torch.SymInt):
            tensor = tensor.select(dimension, part)
            continue
        rest.append(part)
        if part is Ellipsis:
            dimension = tensor.dim() - _dimensions(parts[position + 1 :])
        else:
            dimension += _dimensions((part,))
    return tensor, rest


def write_tensor(tensor: torch.Tensor, key: Staged, value: Staged) -> None:
    """`tensor[key] = value`; torch writes several elements, but not one, by a mask of bytes."""
    masked = _bytes_as(torch.bool, key)
    if masked is not key and isinstance(value, torch.Tensor) and value.numel() > 1:
        key = masked
    if _is_single_truth(key):
        tensor, key = tensor[None], key[None]
    parts = key if isinstance(key, tuple) else (key,)
    if not any(isinstance(part, torch.SymInt) for part in parts):
        tensor[key] = value
        return
    selected, rest = _selected(tensor, parts)
    selected[tuple(rest) if rest else ...] = value


def plain_key(key: object) -> Staged:
    """Arrays in an index, or to be written, as the tensors they are."""
    if isinstance(key, tuple):
        return tuple(plain_key(part) for part in key)
    return key.tensor if isinstance(key, CapturedArray) else key


def positions(key: object) -> Staged:
    """The index of an array: bytes are positions for numpy, but a mask for torch."""
    return _bytes_as(torch.long, plain_key(key))


def _bytes_as(dtype: torch.dtype, key: Staged) -> Staged:
    """`key` itself, or with its tensors and arrays of bytes as those of another dtype."""
    if isinstance(key, tuple):
        parts = tuple(_bytes_as(dtype, part) for part in key)
        return key if all(map(operator.is_, parts, key)) else parts
    if isinstance(key, numpy.ndarray | numpy.generic) and key.dtype == numpy.uint8:
        return torch.as_tensor(key).to(dtype)
    return key.to(dtype) if isinstance(key, torch.Tensor) and key.dtype == torch.uint8 else key


def _is_single_truth(key: object) -> bool:
    """A mask without dimensions: torch would ask for its value, and a mask of one is the same."""
    return isinstance(key, torch.Tensor) and key.dim() == 0 and key.dtype == torch.bool


def _dimensions(parts: tuple[Staged, ...]) -> int:
    """How many dimensions of the tensor these parts of an index read."""
    return sum(_read_by(part) for part in parts)


def _read_by(part: object) -> int:
    if part is None or isinstance(part, bool):
        return 0
    if isinstance(part, torch.Tensor) and part.dtype == torch.bool:
        return part.dim()
    return 1


def refuse_none(items: StagedList) -> None:
    """An error for a list of data with None in it, which torch takes for a tuple."""
    parts = () if items.is_open else list.__iter__(items)
    for item in parts:
        if any(one is None for one in (item.alternatives if isinstance(item, Union) else (item,))):
            raise UnsupportedCall("an index is a list that holds captured values and may hold None",
                                  fix="write a tuple")  # fmt: skip
