"""Random programs of small ops: their gradients are those of eager code to the bit.

The inputs have strides and needs of gradients drawn at random, and so have the gradients that a
backward pass begins with. Values are read more than once, so gradients are added up in an order.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
import torch
from torch import Tensor
from torch.nn import functional

import stator
from stator.extension import extension
from tests.native.by_file import same
from tests.native.test_small import counted

pytestmark = pytest.mark.skipif(extension() is None, reason="the native runtime is not built")

Function = Callable[..., Tensor]

UNARY: tuple[Function, ...] = (
    torch.relu,
    torch.tanh,
    torch.sigmoid,
    lambda x: (x * 0.3).exp(),
    lambda x: x - 1,
    lambda x: 1 - x,
    lambda x: x * 2,
    lambda x: x.t().contiguous().t(),
    lambda x: x.clone().mul_(0.5),
    lambda x: x.detach(),
    lambda x: torch.cat([x, x], 1)[:, : x.shape[1]],
    lambda x: x * x.abs().max() if x.sum() > 0 else x + x.mean(),
)
BINARY: tuple[Function, ...] = (torch.add, torch.sub, torch.mul, torch.maximum, torch.mul)


@dataclass
class Drawn:
    """A program that is being drawn: its steps, and the widths of its values and weights."""

    draw: random.Random
    widths: list[int]
    steps: list[tuple[Function, tuple[int, ...], tuple[int, ...]]] = field(default_factory=list)
    weights: list[tuple[int, ...]] = field(default_factory=list)

    def add(
        self, step: Function, values: tuple[int, ...], weights: tuple[int, ...], to: int
    ) -> None:
        self.steps.append((step, values, weights))
        self.widths.append(to)

    def value(self, width: int | None = None) -> int:
        """One of the values, rather a late one."""
        among = [k for k, each in enumerate(self.widths) if width in (None, each)]
        return max(self.draw.choice(among), self.draw.choice(among))

    def weight(self, *shape: int) -> int:
        """A new weight, or one that is there."""
        if shape in self.weights and self.draw.random() < 0.5:
            return self.weights.index(shape)
        self.weights.append(shape)
        return len(self.weights) - 1

    def step(self, width: int) -> None:
        """One more step; `width` is that of a layer's result."""
        one, way = self.value(), self.draw.random()
        size = self.widths[one]
        if way < 0.35:
            self.add(self.draw.choice(UNARY), (one,), (), size)
        elif way < 0.65:
            self.add(self.draw.choice(BINARY), (one, self.value(size)), (), size)
        elif way < 0.85:
            weights = (self.weight(width, size), self.weight(width))
            self.add(functional.linear, (one,), weights, width)
        else:
            state = self.value()
            to = self.widths[state]
            weights = (self.weight(3 * to, size), self.weight(3 * to, to),
                       self.weight(3 * to), self.weight(3 * to))  # fmt: skip
            self.add(torch.gru_cell, (one, state), weights, to)


def program(drawn: Drawn, inputs: int) -> Callable[..., list[Tensor]]:
    """The program as a function of its inputs and weights; it gives its last value and two more."""
    steps = drawn.steps
    chosen = [len(drawn.widths) - 1, drawn.value(), drawn.value()]

    def run(*given: Tensor) -> list[Tensor]:
        values, weights = list(given[:inputs]), given[inputs:]
        for step, read, used in steps:
            values.append(step(*[values[k] for k in read], *[weights[k] for k in used]))
        return [values[k] for k in chosen]

    return run


def with_strides(draw: random.Random, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Numbers of that shape, in some order in memory."""
    way = draw.random()
    if len(shape) < 2 or way < 0.6:
        return torch.randn(shape, generator=generator)
    rows, columns = shape
    if way < 0.75:
        return torch.randn(columns, rows, generator=generator).t()
    if way < 0.85:
        return torch.randn(rows, 2 * columns, generator=generator)[:, ::2]
    return torch.randn(rows, 1, generator=generator).expand(rows, columns)


def leaf(value: Tensor, needs: bool) -> Tensor:
    """A leaf with these values and strides."""
    return value.detach().requires_grad_(needs)


def trained(
    run: Callable[..., list[Tensor]], values: list[Tensor], needs: list[bool], seed: int
) -> list[Tensor | None]:
    """The results, and the gradients after two backward passes through one graph."""
    leaves = [leaf(value, need) for value, need in zip(values, needs, strict=True)]
    results = run(*leaves)
    draw, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    roots = [result for result in results if result.requires_grad]
    given = [with_strides(draw, tuple(root.shape), generator) for root in roots]
    if roots:
        torch.autograd.backward(roots, given, retain_graph=True)
        torch.autograd.backward(roots, given)
    return [*(result.detach() for result in results), *(each.grad for each in leaves)]


@pytest.mark.parametrize("seed", range(12))
def test_gradients_of_random_programs(seed: int) -> None:
    draw, generator = random.Random(seed), torch.Generator().manual_seed(seed)
    sizes = draw.choice([[2, 3], [1, 4], [5, 8], [16, 7], [33, 4]])
    batch = draw.choice([1, 1, 2, 5, 16])
    drawn = Drawn(draw, [draw.choice(sizes) for _ in range(2)])
    shapes = [(batch, width) for width in drawn.widths]
    for _ in range(draw.randrange(4, 16)):
        drawn.step(draw.choice(sizes))
    run = program(drawn, len(shapes))
    static = stator.to_static(run, backend="native")
    recorded = 0
    for _ in range(3):
        values = [with_strides(draw, shape, generator) for shape in [*shapes, *drawn.weights]]
        needs = [draw.random() < 0.75 for _ in values]
        wanted = trained(run, values, needs, seed)
        got, counts = counted(lambda v=values, n=needs: trained(static, v, n, seed))
        assert same(wanted, got)
        recorded += counts["recorded"]
    assert recorded > 0
