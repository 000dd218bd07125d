"""One training loop, for eager and static models alike, on scikit-learn's bundled digits."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

EPOCHS = 8
BATCH = 64  # the last batch of an epoch is smaller
SEED = 7


@dataclass(frozen=True)
class Digits:
    """Images as rows of 64 numbers in 0..1, with labels; a fifth is kept for testing."""

    train_x: Tensor
    train_y: Tensor
    test_x: Tensor
    test_y: Tensor

    @classmethod
    def bundled(cls) -> Digits:
        """The 1797 digits that come with scikit-learn."""
        images, labels = load_digits(return_X_y=True)
        x = torch.tensor(images / 16, dtype=torch.float32)
        y = torch.tensor(labels, dtype=torch.int64)
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(SEED))
        train, test = order[: len(x) * 4 // 5], order[len(x) * 4 // 5 :]
        return cls(x[train], y[train], x[test], y[test])

    @property
    def steps(self) -> int:
        """Training steps in a whole run."""
        return EPOCHS * -(-len(self.train_x) // BATCH)

    def batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Every batch of every epoch, shuffled by torch's own generator."""
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(self.train_x)).split(BATCH):
                yield self.train_x[rows], self.train_y[rows]


@dataclass(frozen=True)
class Run:
    """What one training run gave, step by step."""

    losses: list[float]
    looks: list[int]
    seconds: list[float]

    @property
    def milliseconds_a_step(self) -> float:
        """The median; the first step, which captures, does not move it."""
        return 1000 * statistics.median(self.seconds)


def answer(model: nn.Module, x: Tensor) -> tuple[Tensor, int]:
    """The logits, and the number of looks (1 for a model that looks once)."""
    out = model(x)
    return (out[0], int(out[1])) if isinstance(out, tuple) else (out, 1)


def train(model: nn.Module, digits: Digits, tick: Callable[[], None]) -> Run:
    """Train from a fixed seed; `tick` is called after each step."""
    torch.manual_seed(SEED)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    run = Run([], [], [])
    model.train()
    for x, y in digits.batches():
        started = time.perf_counter()
        logits, looks = answer(model, x)
        loss = nn.functional.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.seconds.append(time.perf_counter() - started)
        run.losses.append(loss.item())
        run.looks.append(looks)
        tick()
    return run


@torch.no_grad()
def accuracy(model: nn.Module, digits: Digits) -> float:
    """The share of test digits that are read right."""
    model.eval()
    logits, _ = answer(model, digits.test_x)
    return (logits.argmax(-1) == digits.test_y).float().mean().item()
