"""weights_of(): every tensor of a model, also those that no program uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from stator.page.subject import Weight
from stator.program.types import TensorType


def weights_of(tensors: Mapping[str, torch.Tensor]) -> Iterator[Weight]:
    """A weight for each name; `tied` is the first name of the same tensor, if there is one.

    >>> one = torch.zeros(2, 3)
    >>> [(found.name, str(found.type), found.tied) for found in weights_of({"a": one, "b": one})]
    [('a', 'f32[2, 3]', None), ('b', 'f32[2, 3]', 'a')]
    """
    first: dict[int, str] = {}
    for name, tensor in tensors.items():
        kind = TensorType(str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape))
        owner = first.setdefault(id(tensor), name)
        yield Weight(name, _kind_of(tensor), kind, owner if owner != name else None)


def _kind_of(tensor: torch.Tensor) -> str:
    return "parameter" if isinstance(tensor, torch.nn.Parameter) else "buffer"
