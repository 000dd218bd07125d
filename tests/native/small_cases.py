"""Calls that the runtime's kernels for small tensors take, for the tests that compare them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

SPECIAL = (0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-40, -1e-310, 1e38, 3.0, -1e-45)
LENGTHS = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 1000, 4096)


def drawn(size: tuple[int, ...], dtype: torch.dtype, seed: int, special: bool = True) -> Tensor:
    """Random numbers, with the special ones between them."""
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(size, generator=generator, dtype=torch.float64) * 3
    if special and dtype.is_floating_point and values.numel():
        flat = values.view(-1)
        chosen = torch.tensor(SPECIAL, dtype=torch.float64).roll(seed)[: len(flat)]
        flat[torch.randperm(len(flat), generator=generator)[: len(chosen)]] = chosen
    return (values > 0) if dtype == torch.bool else values.to(dtype)


@dataclass(frozen=True)
class Case:
    """A function of tensors, and calls of it."""

    name: str
    function: Callable[..., object]
    calls: Callable[[], Iterator[tuple[Tensor, ...]]]


def along(*dtypes: torch.dtype, count: int = 1, special: bool = True):
    """Calls with `count` tensors of each length and dtype."""

    def calls() -> Iterator[tuple[Tensor, ...]]:
        for dtype in dtypes:
            for length in LENGTHS:
                yield tuple(drawn((length,), dtype, seed, special) for seed in range(count))

    return calls


FLOATS = (torch.float32, torch.float64)
NUMBERS = (*FLOATS, torch.int64)

UNARY = {
    "exp": torch.exp, "exp2": torch.exp2, "expm1": torch.expm1, "log": torch.log,
    "log1p": torch.log1p, "log2": torch.log2, "tanh": torch.tanh, "sigmoid": torch.sigmoid,
    "sin": torch.sin, "cos": torch.cos, "tan": torch.tan, "atan": torch.atan, "erf": torch.erf,
    "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "reciprocal": torch.reciprocal,
    "floor": torch.floor, "ceil": torch.ceil, "round": torch.round, "trunc": torch.trunc,
    "sign": torch.sign, "silu": functional.silu, "mish": functional.mish,
    "square": lambda x: x**2,
}  # fmt: skip


def rows(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    """A row and one element next to a matrix, on either side."""
    return x + y, y - x, x * y[0], y[0] / x, x < y, x.sum() - x


def choices(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    """What chooses between elements."""
    mask = x > y
    return (
        torch.where(mask, x, y), torch.where(mask, x, 0.5), torch.where(mask, 2.0, y),
        x.masked_fill(mask, -1.5), mask & (x > 0), mask | (y > 0), ~mask, mask ^ (x < 0),
        torch.logical_and(mask, y > 0), torch.logical_not(mask), 1 - x, 2.5 - y,
    )  # fmt: skip


def reductions(x: Tensor) -> tuple[Tensor, ...]:
    """Of all elements."""
    return x.sum(), x.mean(), (x > 0).all(), (x > 0).any()


def row_reductions(x: Tensor) -> tuple[Tensor, ...]:
    """Of each row."""
    return (
        x.sum(-1), x.sum(1, keepdim=True), x.mean(1), x.argmax(1), x.argmax(), x.argmax(-1, True),
        torch.softmax(x, -1), torch.log_softmax(x, 1),
    )  # fmt: skip


def matrices() -> Iterator[tuple[Tensor, ...]]:
    """An input, weights and a bias, of many sizes."""
    for dtype in FLOATS:
        for m in (1, 2, 5, 33):
            for n in (1, 2, 3, 16, 17, 128):
                for k in (1, 2, 3, 16, 31, 784):
                    yield (
                        drawn((m, k), dtype, 1, False), drawn((n, k), dtype, 2, False),
                        drawn((n,), dtype, 3, False),
                    )  # fmt: skip


def products(x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
    """By `linear` and `mm`."""
    right = weight.t().contiguous()
    return functional.linear(x, weight, bias), torch.mm(x, right), x @ right


def norm(x: Tensor) -> Tensor:
    """Layer norm with a weight and a bias made of the input."""
    return functional.layer_norm(x, (x.shape[1],), x[0].contiguous(), (x[-1] * 2).contiguous())


def pieces(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    """Tensors put together, and parts of tensors."""
    n = x.shape[0]
    return (
        torch.cat([x, y]), torch.cat([x, y], 1), torch.stack([x, y]), torch.stack([x, y], 1),
        torch.stack([x, y], -1), x[0] + y[-1], x[:, 0] * 2, x[1:] - y[:-1], x[:, ::2] + 1,
        x.view(-1) * 2, x.reshape(n, 1, -1) + 1, x.unsqueeze(1) * y, x[-1][0] + y[0],
        torch.zeros(2, 3, device="cpu") + 1, torch.full((2,), 7, device="cpu") * 2,
        torch.ones(3, dtype=torch.float64, device="cpu") / 3,
    )  # fmt: skip


def two_by_two(*dtypes: torch.dtype):
    """Pairs of matrices of several sizes."""

    def calls() -> Iterator[tuple[Tensor, ...]]:
        for dtype in dtypes:
            for size in ((1, 1), (1, 5), (2, 3), (4, 16), (3, 33), (17, 8)):
                yield drawn(size, dtype, 1), drawn(size, dtype, 2)

    return calls


def matrices_and_rows() -> Iterator[tuple[Tensor, ...]]:
    """A matrix, and one row."""
    for dtype in NUMBERS:
        for size in ((1, 1), (2, 3), (3, 17), (5, 64)):
            yield drawn(size, dtype, 1), drawn(size[1:], dtype, 2)


def only_matrices() -> Iterator[tuple[Tensor, ...]]:
    """Matrices with rows of many lengths, with special numbers and without."""
    for dtype in FLOATS:
        for length in LENGTHS[1:-1]:
            for count in (1, 3):
                for special in (False, True):
                    yield (drawn((count, length), dtype, length, special),)


def binary(name: str) -> Case:
    """An operator of two tensors."""
    dtypes = (*NUMBERS, torch.bool) if name in {"lt", "le", "gt", "ge", "eq", "ne"} else NUMBERS
    return Case(name, getattr(operator, name), along(*dtypes, count=2))


def cases() -> list[Case]:
    """All of them."""
    operators = ("add", "sub", "mul", "truediv", "lt", "le", "gt", "ge", "eq", "ne")
    return [
        *(binary(name) for name in operators),
        *(Case(name, function, along(*FLOATS)) for name, function in UNARY.items()),
        *(Case(n, f, along(*NUMBERS)) for n, f in (("neg", torch.neg), ("abs", torch.abs))),
        Case("relu", torch.relu, along(*FLOATS)),
        Case("rows", rows, matrices_and_rows),
        Case("choices", choices, along(*FLOATS, count=2)),
        Case("reductions", reductions, along(*FLOATS, special=False)),
        Case("reductions of special numbers", reductions, along(*FLOATS)),
        Case("reductions of rows", row_reductions, only_matrices),
        Case("products", products, matrices),
        Case("layer norm", norm, only_matrices),
        Case("pieces", pieces, two_by_two(*NUMBERS)),
        Case("embedding", embedding, indexes),
    ]


def embedding(index: Tensor, weight: Tensor) -> Tensor:
    """Rows of a matrix."""
    return functional.embedding(index, weight) * 1.5


def indexes() -> Iterator[tuple[Tensor, ...]]:
    """Indexes and a matrix."""
    for size in ((), (1,), (3,), (2, 2)):
        index = torch.randint(0, 9, size, generator=torch.Generator().manual_seed(0))
        yield index, drawn((9, 5), torch.float32, 1)
