"""DEFINITIONS: ops in terms of others that a compiler can fuse.

Torch has one kernel for a recurrent cell, which a compiler has to take as it is. The library that
torch calls for matrix products is made for large ones: on a GPU, a product of a few rows in single
precision takes it ten times as long as a kernel that multiplies and sums, which is also fused with
what is around it. In half precision that holds for one row, where all there is to do is to read the
matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

# of each dtype: how many rows, and how many products of two numbers at the most
FEW: Mapping[torch.dtype, tuple[int, int]] = MappingProxyType(
    {torch.float32: (16, 2**20), torch.float16: (1, 2**28), torch.bfloat16: (1, 2**28)}
)


def _is_little(rows: Tensor, columns: Tensor) -> bool:
    """Whether a product of two matrices is better multiplied and summed."""
    is_known = all(isinstance(size, int) for size in (*rows.shape, *columns.shape))
    if not is_known or not rows.is_cuda or rows.dtype not in FEW or rows.dtype != columns.dtype:
        return False
    if rows.dim() != 2 or columns.dim() != 2:
        return False
    (count, inner), outer = rows.shape, columns.shape[1]
    most_rows, most_products = FEW[rows.dtype]
    return count <= most_rows and count * inner * outer <= most_products


def _matmul(one: Tensor, other: Tensor) -> Tensor:
    if not _is_little(one, other):
        return torch.matmul(one, other)
    products = one[:, None, :].float() * other.t()[None].float()  # no product is rounded to half
    return products.sum(-1).to(one.dtype)


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
