"""DEFINITIONS: ops in terms of others that a compiler can fuse.

Torch has one kernel for a recurrent cell, which a compiler has to take as it is. The library that
torch calls for matrix products is made for large ones: on a GPU, a product of a few rows in single
precision takes it ten times as long as a kernel that multiplies and sums, which is also fused with
what is around it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

FEW_ROWS, MOST_PRODUCTS = 16, 2**20


def _is_little(rows: Tensor, columns: Tensor) -> bool:
    """Whether a product of two matrices is better multiplied and summed."""
    is_known = all(isinstance(size, int) for size in (*rows.shape, *columns.shape))
    if not is_known or not rows.is_cuda or rows.dtype != torch.float32:
        return False
    if rows.dim() != 2 or columns.dim() != 2:
        return False
    (count, inner), outer = rows.shape, columns.shape[1]
    return count <= FEW_ROWS and count * inner * outer <= MOST_PRODUCTS


def _matmul(one: Tensor, other: Tensor) -> Tensor:
    if not _is_little(one, other):
        return torch.matmul(one, other)
    return (one[:, None, :] * other.t()[None]).sum(-1)


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if x.dim() != 2 or not _is_little(x, weight.t()):
        return functional.linear(x, weight, bias)
    product = _matmul(x, weight.t())
    return product if bias is None else product + bias


def _gru_cell(
    x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b_x: Tensor | None = None,
    b_h: Tensor | None = None,
) -> Tensor:  # fmt: skip
    reset, update, new = _linear(x, w_x, b_x).chunk(3, -1)
    reset_h, update_h, new_h = _linear(h, w_h, b_h).chunk(3, -1)
    new = torch.tanh(new + torch.sigmoid(reset + reset_h) * new_h)
    return (h - new) * torch.sigmoid(update + update_h) + new


def _lstm_cell(
    x: Tensor, state: Sequence[Tensor], w_x: Tensor, w_h: Tensor, b_x: Tensor | None = None,
    b_h: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    h, c = state
    gates = _linear(x, w_x, b_x) + _linear(h, w_h, b_h)
    taken, forgotten, new, given = gates.chunk(4, -1)
    c = torch.sigmoid(forgotten) * c + torch.sigmoid(taken) * torch.tanh(new)
    return torch.sigmoid(given) * torch.tanh(c), c


def _simple_cell(activation: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    def cell(
        x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b_x: Tensor | None = None,
        b_h: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        return activation(_linear(x, w_x, b_x) + _linear(h, w_h, b_h))

    return cell


DEFINITIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "aten::mm": _matmul,
        "aten::matmul": _matmul,
        "aten::linear": _linear,
        "aten::gru_cell": _gru_cell,
        "aten::lstm_cell": _lstm_cell,
        "aten::rnn_tanh_cell": _simple_cell(torch.tanh),
        "aten::rnn_relu_cell": _simple_cell(torch.relu),
    }
)
