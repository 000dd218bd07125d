"""Shapes of ops that torch does not describe, or only where it knows the length of a sequence.

Torch has no rule of its own for these. Some it runs step by step to see what comes out, and needs a
length for that. Each function here is given what the op is given, and a maker of fresh sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch

FreshSize = Callable[[], torch.SymInt]


def _like(shape: Sequence[Any], *sources: torch.Tensor) -> torch.Tensor:
    """A tensor of this shape that depends on `sources`: it requires a gradient if one does."""
    made = sources[0].new_empty(list(shape))
    for source in sources:
        made = made + source.sum()
    return made


def _recurrent(
    _fresh: FreshSize,
    data: torch.Tensor,
    hx: torch.Tensor,
    params: Sequence[torch.Tensor],
    _has_biases: bool,
    _num_layers: int,
    _dropout: float,
    _train: bool,
    bidirectional: bool,
    _batch_first: bool,
) -> tuple[torch.Tensor, ...]:
    width = hx.shape[-1] * (2 if bidirectional else 1)
    sources = (data, hx, *params)
    return _like((*data.shape[:-1], width), *sources), _like(hx.shape, *sources)


def _packed_recurrent(
    _fresh: FreshSize,
    data: torch.Tensor,
    _batch_sizes: torch.Tensor,
    hx: torch.Tensor,
    params: Sequence[torch.Tensor],
    _has_biases: bool,
    _num_layers: int,
    _dropout: float,
    _train: bool,
    bidirectional: bool,
) -> tuple[torch.Tensor, ...]:
    width = hx.shape[-1] * (2 if bidirectional else 1)
    sources = (data, hx, *params)
    return _like((data.shape[0], width), *sources), _like(hx.shape, *sources)


def _lstm(
    fresh: FreshSize, data: torch.Tensor, hx: Sequence[torch.Tensor], *rest: Any
) -> tuple[torch.Tensor, ...]:
    hidden, cell = hx
    params = (*rest[0], cell)
    out, last = _recurrent(fresh, data, hidden, params, *rest[1:])
    return out, last, _like(cell.shape, data, hidden, *params)


def _packed_lstm(
    fresh: FreshSize,
    data: torch.Tensor,
    batch_sizes: torch.Tensor,
    hx: Sequence[torch.Tensor],
    *rest: Any,
) -> tuple[torch.Tensor, ...]:
    hidden, cell = hx
    params = (*rest[0], cell)
    out, last = _packed_recurrent(fresh, data, batch_sizes, hidden, params, *rest[1:])
    return out, last, _like(cell.shape, data, hidden, *params)


def _pack(
    fresh: FreshSize, padded: torch.Tensor, _lengths: torch.Tensor, _batch_first: bool
) -> tuple[torch.Tensor, ...]:
    data = _like((fresh(), *padded.shape[2:]), padded)
    return data, torch.empty([fresh()], dtype=torch.int64)


def _pad(
    fresh: FreshSize,
    data: torch.Tensor,
    batch_sizes: torch.Tensor,
    batch_first: bool,
    _padding_value: float,
    total_length: int,
) -> tuple[torch.Tensor, ...]:
    length = batch_sizes.shape[0] if total_length <= 0 else total_length
    batch = fresh()
    sizes = (batch, length) if batch_first else (length, batch)
    return _like((*sizes, *data.shape[1:]), data), torch.empty([batch], dtype=torch.int64)


def _as_first(_fresh: FreshSize, first: torch.Tensor, *_rest: Any) -> torch.Tensor:
    return torch.empty_like(first)


def _grouped(
    _fresh: FreshSize,
    left: torch.Tensor,
    right: torch.Tensor,
    offsets: torch.Tensor | None = None,
    _bias: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """Matrices in groups: torch's own rule knows only the types that a GPU takes."""
    batch = [] if left.dim() != right.dim() else [right.shape[0]]
    if left.dim() == right.dim() == 2 and offsets is not None:
        batch = [offsets.shape[0]]
    made = _like([*batch, left.shape[-2], right.shape[-1]], left, right)
    return made if out_dtype is None else made.to(out_dtype)


FAKE_RULES: Mapping[str, Callable[..., torch.Tensor | tuple[torch.Tensor, ...]]] = MappingProxyType(
    {
        "aten::gru.input": _recurrent,
        "aten::rnn_tanh.input": _recurrent,
        "aten::rnn_relu.input": _recurrent,
        "aten::gru.data": _packed_recurrent,
        "aten::rnn_tanh.data": _packed_recurrent,
        "aten::rnn_relu.data": _packed_recurrent,
        "aten::lstm.input": _lstm,
        "aten::lstm.data": _packed_lstm,
        "aten::_pack_padded_sequence": _pack,
        "aten::_pad_packed_sequence": _pad,
        "aten::_grouped_mm": _grouped,
        "aten::_sample_dirichlet": _as_first,
        "aten::_dirichlet_grad": _as_first,
    }
)
