"""weight_distance(): how far apart the values of two saved models are."""

from __future__ import annotations

import torch

from stator.export.model_difference import Distance
from stator.export.saved_model import SavedModel


def weight_distance(before: SavedModel, after: SavedModel) -> Distance:
    """What compares the tensors of one name, which both models have with one dtype and shape."""

    def distance(name: str) -> float | None:
        mine, other = before.tensors[name], after.tensors[name]
        return None if _has_same_bytes(mine, other) else _largest_difference(mine, other)

    return distance


def _has_same_bytes(mine: torch.Tensor, other: torch.Tensor) -> bool:
    left, right = (one.contiguous().reshape(-1).view(torch.uint8) for one in (mine, other))
    return torch.equal(left, right)


def _largest_difference(mine: torch.Tensor, other: torch.Tensor) -> float:
    """The largest distance of two values; nan where one of the two is no number."""
    wide = torch.complex128 if mine.is_complex() else torch.float64
    left, right = mine.to(wide), other.to(wide)
    same = (left == right) | (left.isnan() & right.isnan())
    distances = torch.where(same, torch.zeros((), dtype=torch.float64), (left - right).abs())
    return float(distances.max())
