"""weight_rows(): every tensor of a model with its size, also those that no program uses."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import torch

from stator.debug.view.encoding import bytes_of
from stator.program.types import TensorType

NO_KINDS: Mapping[str, str] = MappingProxyType({})


def weight_rows(
    tensors: Mapping[str, torch.Tensor], kinds: Mapping[str, str] = NO_KINDS
) -> list[dict[str, Any]]:
    """A row for each name; `tied` is the first name of the same tensor, if there is one.

    `kinds` has what a file says a tensor is: read from there, a parameter is a plain tensor.

    >>> one = torch.zeros(2, 3)
    >>> rows = weight_rows({"a": one, "b": one})
    >>> [(row["name"], row["type"], row["bytes"], row["tied"]) for row in rows]
    [('a', 'f32[2, 3]', 24, None), ('b', 'f32[2, 3]', 24, 'a')]
    """
    first: dict[int, str] = {}
    rows = []
    for name, tensor in tensors.items():
        kind = TensorType(str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape))
        owner = first.setdefault(id(tensor), name)
        rows.append({
            "name": name,
            "kind": kinds.get(name) or _kind_of(tensor),
            "type": str(kind), "bytes": bytes_of(kind), "tied": owner if owner != name else None,
        })  # fmt: skip
    return rows


def _kind_of(tensor: torch.Tensor) -> str:
    return "parameter" if isinstance(tensor, torch.nn.Parameter) else "buffer"
