"""Shapes of ops that torch does not describe, or only where it knows the length of a sequence.

Torch has no rule of its own for these. Some it runs step by step to see what comes out, and needs a
length for that. Each function here is given what the op is given, and a maker of fresh sizes; one
that gives `NotImplemented` leaves the op to torch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch

from stator.errors import UnsupportedCall

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


def _as_long_as_the_longest(
    _fresh: FreshSize,
    sequences: Sequence[torch.Tensor],
    batch_first: bool = False,
    _padding_value: float = 0.0,
    _padding_side: str = "right",
) -> torch.Tensor:
    """Torch compares the lengths with each other to find the largest one."""
    rests = [tuple(one.shape[1:]) for one in sequences]
    if not all(isinstance(size, int) for rest in rests for size in rest) or len({*rests}) != 1:
        return NotImplemented
    if any(one.dim() == 0 for one in sequences):
        return NotImplemented
    longest = functools.reduce(torch.sym_max, [one.shape[0] for one in sequences])
    count = len(sequences)
    sizes = (count, longest) if batch_first else (longest, count)
    return _like((*sizes, *rests[0]), *sequences).to(sequences[0].dtype)


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


def _one_hot(fresh: FreshSize, classes: torch.Tensor, count: int = -1) -> torch.Tensor:
    """Without a number of classes, the largest one decides."""
    sizes = (*classes.shape, fresh() if count == -1 else count)
    return torch.empty(sizes, dtype=torch.int64, device=classes.device)


def _take_along(
    _fresh: FreshSize, tensor: torch.Tensor, indices: torch.Tensor, dim: int | None = None
) -> torch.Tensor:
    """All dimensions but `dim` broadcast; open sizes agree already."""
    if dim is None:
        return tensor.reshape(-1).gather(0, indices.reshape(-1))
    pairs = list(zip(tensor.shape, indices.shape, strict=True))
    shape = [two if isinstance(one, int) and one == 1 else one for one, two in pairs]
    shape[dim] = tensor.shape[dim]
    tensor = tensor.expand(shape)
    shape[dim] = indices.shape[dim]
    return tensor.gather(dim, indices.expand(shape))


def _covariance(
    _fresh: FreshSize,
    data: torch.Tensor,
    *_: Any,
    fweights: torch.Tensor | None = None,
    aweights: torch.Tensor | None = None,
    **__: Any,
) -> torch.Tensor:
    shape = (data.shape[0], data.shape[0]) if data.dim() == 2 else ()
    values = data if data.is_floating_point() or data.is_complex() else data * 1.0
    weights = [weight for weight in (fweights, aweights) if weight is not None]
    return _like(shape, values, *weights)


def _ctc_loss(
    _fresh: FreshSize,
    log_probs: torch.Tensor,
    _targets: torch.Tensor,
    _input_lengths: Any,
    _target_lengths: Any,
    _blank: int = 0,
    reduction: int = 1,
    *_: Any,
) -> torch.Tensor:
    is_batch = log_probs.dim() == 3 and reduction == 0
    return _like((log_probs.shape[1],) if is_batch else (), log_probs)


def _least_squares(
    fresh: FreshSize,
    a: torch.Tensor,
    b: torch.Tensor,
    _rcond: float | None = None,
    *,
    driver: str | None = None,
) -> tuple[torch.Tensor, ...]:
    """Of one problem; whether there are residuals depends on the rank."""
    if a.dim() != 2:
        raise UnsupportedCall("`lstsq` of a batch of matrices is not supported",
                              fix="solve them one by one")  # fmt: skip
    solution = _like((a.shape[1], *b.shape[1:]), a, b)
    residuals = _like((fresh(),), a, b)
    has_values = driver in ("gelsd", "gelss")
    values = a.new_empty([fresh() if has_values else 0]).real
    rank = torch.empty([] if driver != "gels" else [0], dtype=torch.int64, device=a.device)
    return solution, residuals, rank, values


def _split_at(
    fresh: FreshSize, tensor: torch.Tensor, indices: torch.Tensor, dim: int = 0
) -> list[torch.Tensor]:
    """Parts between the numbers that `indices` holds; their number is its size."""
    if indices.dim() != 1 or not isinstance(indices.shape[0], int):
        raise UnsupportedCall(
            "`tensor_split` into a data-dependent number of parts is not supported",
            fix="give the number as an int",
        )
    shape: list[Any] = list(tensor.shape)
    parts = []
    for _ in range(indices.shape[0] + 1):
        shape[dim] = fresh()
        parts.append(tensor.new_empty(shape) + tensor.sum().to(tensor.dtype))
    return parts


def _vector(size: Any, dtype: torch.dtype | None, device: Any) -> torch.Tensor:
    return torch.empty([size], dtype=dtype, device=device)


def _spaced(
    _fresh: FreshSize,
    start: Any,
    end: Any,
    steps: Any,
    *_: Any,
    dtype: torch.dtype | None = None,
    device: Any = None,
    **__: Any,
) -> torch.Tensor:
    """`linspace` and `logspace`."""
    if dtype is None and (isinstance(start, complex) or isinstance(end, complex)):
        dtype = torch.get_default_dtype().to_complex()
    return _vector(steps, dtype, device)


def _range(
    fresh: FreshSize,
    *ends: Any,
    dtype: torch.dtype | None = None,
    device: Any = None,
    **__: Any,
) -> Any:
    """`arange` to a float that only a run knows: its length is rounded from that."""
    if not any(isinstance(end, torch.SymFloat) for end in ends):
        return NotImplemented
    return _vector(fresh(), dtype, device)


def _window(
    _fresh: FreshSize,
    length: Any,
    *_: Any,
    dtype: torch.dtype | None = None,
    device: Any = None,
    **__: Any,
) -> torch.Tensor:
    return _vector(length, dtype, device)


def _triangle(
    places: Callable[..., torch.Tensor],
    fresh: FreshSize,
    rows: Any,
    columns: Any,
    offset: Any = 0,
    *,
    dtype: torch.dtype | None = None,
    device: Any = None,
    **__: Any,
) -> torch.Tensor:
    """The places of a triangle; only a run knows how many there are in one of an open size."""
    dtype = dtype or torch.int64
    if all(isinstance(size, int) for size in (rows, columns, offset)):
        return places(rows, columns, offset, dtype=dtype, device=device)
    return torch.empty([2, fresh()], dtype=dtype, device=device)


def _distances(_fresh: FreshSize, x1: torch.Tensor, x2: torch.Tensor, *_rest: Any) -> torch.Tensor:
    """`cdist`: a row for each point of one and a column for each of the other, as of a product."""
    if min(x1.dim(), x2.dim()) < 2:
        raise RuntimeError("cdist needs tensors of at least two dimensions")
    return x1 @ x2.mT


def _itself(_fresh: FreshSize, first: torch.Tensor, *_rest: Any) -> torch.Tensor:
    """An op in place, which keeps the shape."""
    return first


WINDOWS = tuple(
    f"{name}_window{overload}"
    for name, overloads in {
        "bartlett": ("", ".periodic"),
        "blackman": ("", ".periodic"),
        "hamming": ("", ".periodic", ".periodic_alpha", ".periodic_alpha_beta"),
        "hann": ("", ".periodic"),
        "kaiser": ("", ".periodic", ".beta"),
    }.items()
    for overload in overloads
)
Described = torch.Tensor | Sequence[torch.Tensor]


def _selected(_fresh: FreshSize, tensor: torch.Tensor, dim: int, index: Any) -> torch.Tensor:
    """All selections of one dimension are alike; torch takes long to tell where one begins."""
    is_alike = isinstance(index, torch.SymInt) and -tensor.dim() <= dim < tensor.dim()
    is_there = is_alike and (isinstance(tensor.shape[dim], torch.SymInt) or tensor.shape[dim] > 0)
    return tensor.select(dim, 0 if is_there else index)


FAKE_RULES: Mapping[str, Callable[..., Described]] = MappingProxyType(
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
        "aten::pad_sequence": _as_long_as_the_longest,
        "aten::cdist": _distances,
        "aten::cov": _covariance,
        "aten::corrcoef": _covariance,
        "aten::tensor_split.tensor_indices_or_sections": _split_at,
        "aten::_grouped_mm": _grouped,
        "aten::one_hot": _one_hot,
        "aten::take_along_dim": _take_along,
        "aten::ctc_loss.Tensor": _ctc_loss,
        "aten::ctc_loss.IntList": _ctc_loss,
        "aten::linalg_lstsq": _least_squares,
        "aten::fill_diagonal_": _itself,
        "aten::arange": _range,
        "aten::arange.start": _range,
        "aten::arange.start_step": _range,
        "aten::linspace": _spaced,
        "aten::logspace": _spaced,
        "aten::tril_indices": functools.partial(_triangle, torch.tril_indices),
        "aten::triu_indices": functools.partial(_triangle, torch.triu_indices),
        **{f"aten::{name}": _window for name in WINDOWS},
        "aten::select.int": _selected,
        "aten::_sample_dirichlet": _as_first,
        "aten::_dirichlet_grad": _as_first,
    }
)
