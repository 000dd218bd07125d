"""What the speed of the native runtime is measured on: small models, loops and branches.

The functions are written as people write them, and so that `torch.jit.script` takes them too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import torch
import transformers
from torch import Tensor, nn

SOS, EOS, VOCABULARY, LONGEST = 1, 2, 64, 24


@dataclass(frozen=True)
class Workload:
    """A function or module, what it is called with, and what is asked of it next to eager."""

    name: str
    make: Callable[[], Callable[..., object]]
    inputs: Callable[[], tuple[Tensor, ...]]
    target: float  # eager's time over the native runtime's
    trains: bool = False
    scripts: bool = True


def tiny_ops(x: Tensor, y: Tensor) -> Tensor:
    """Sixty pointwise ops on small tensors."""
    for _ in range(12):
        x = x * 0.9 + y
        x = torch.tanh(x)
        x = x - y * 0.1
    return x


def scalar_loop(x: Tensor, limit: Tensor) -> tuple[Tensor, Tensor]:
    """A thousand iterations that a tensor ends, of five ops on one number each."""
    total = torch.zeros(())
    while bool(total < limit):
        x = x * 0.999
        x = x + 0.001
        total = total + 1.0
        x = x - 0.0001
    return x, total


def twenty_ifs(x: Tensor) -> Tensor:
    """Twenty decisions, each on the values of a tensor."""
    for i in range(20):
        if bool(x.sum() > 0.5 * i):
            x = x * 1.1 - 0.05
        else:
            x = x + 0.2
    return x


def append_and_stack(x: Tensor, count: Tensor) -> Tensor:
    """A list that grows in a loop, then one tensor of it."""
    kept = [x]
    n, i = int(count), 0
    while i < n:
        x = x * 0.5 + 1.0
        kept.append(x)
        i += 1
    return torch.stack(kept)


def number_loop(count: Tensor) -> int:
    """A loop of Python numbers."""
    n, total = int(count), 0
    i = 0
    while i < n:
        if i % 3 == 0:
            total += i * 2
        else:
            total -= 1
        i += 1
    return total


class GruUntil(nn.Module):
    """A GRU cell, stepped until a score is reached."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.score = nn.GRUCell(16, 32), nn.Linear(32, 1)
        self.limit = 50

    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        """The last state and the number of steps."""
        h = torch.zeros(x.shape[0], 32)
        steps = 0
        while steps < self.limit and bool(self.score(h).sigmoid().mean() < 0.9):
            h = self.cell(x, h)
            steps += 1
        return h, steps


class Greedy(nn.Module):
    """A decoder that takes its best guess until the end mark."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 32)
        self.cell, self.out = nn.GRUCell(32, 64), nn.Linear(64, VOCABULARY)

    def forward(self, h: Tensor) -> Tensor:
        """The tokens, up to the end mark."""
        token = torch.full((1,), SOS)
        tokens = [token]
        while len(tokens) < LONGEST and bool((token != EOS).all()):
            h = self.cell(self.embedding(token), h)
            token = self.out(h).argmax(1)
            tokens.append(token)
        return torch.cat(tokens)


def mlp(*sizes: int) -> nn.Sequential:
    """Linear layers with ReLU between them."""
    layers: list[nn.Module] = []
    for a, b in itertools.pairwise(sizes):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def cnn() -> nn.Sequential:
    """Three convolutions and a linear layer."""
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip


class Bert(nn.Module):
    """BERT, of which the last hidden state is wanted."""

    def __init__(self) -> None:
        super().__init__()
        self.model = transformers.BertModel(
            transformers.BertConfig(
                vocab_size=1000, hidden_size=256, intermediate_size=1024, num_hidden_layers=4,
                num_attention_heads=4,
            )
        )  # fmt: skip

    def forward(self, ids: Tensor) -> Tensor:
        """The last hidden state."""
        return self.model(ids).last_hidden_state


def one(*size: int) -> Callable[[], tuple[Tensor, ...]]:
    """One random tensor."""
    return lambda: (torch.randn(*size),)


WORKLOADS = (
    Workload("MLP 784-128-10, batch 1", lambda: mlp(784, 128, 10), one(1, 784), 2.6),
    Workload("four layers of 16", lambda: mlp(16, 16, 16, 16, 16), one(1, 16), 8),
    Workload("60 pointwise ops", lambda: tiny_ops, lambda: (torch.randn(8), torch.randn(8)), 12),
    Workload(
        "while, 1000 x 5 scalar ops",
        lambda: scalar_loop,
        lambda: (torch.tensor(0.5), torch.tensor(1000.0)),
        40,
    ),
    Workload("GRU until a score", GruUntil, one(1, 16), 3),
    Workload("20 data-dependent ifs", lambda: twenty_ifs, one(4), 5),
    Workload("greedy decoding", Greedy, one(1, 64), 2),
    Workload(
        "list append and stack",
        lambda: append_and_stack,
        lambda: (torch.randn(4), torch.tensor(100)),
        5,
    ),
    Workload("loop of Python numbers", lambda: number_loop, lambda: (torch.tensor(3000),), 2),
    Workload("CNN, batch 4", cnn, one(4, 3, 32, 32), 1.0),
    Workload("BERT, 64 tokens", Bert, lambda: (torch.randint(0, 999, (1, 64)),), 1.0, False, False),
    Workload("MLP 784-128-10, training", lambda: mlp(784, 128, 10), one(16, 784), 1.15, True),
    Workload("GRU until a score, training", GruUntil, one(1, 16), 1.5, True),
    Workload("20 ifs, training", lambda: twenty_ifs, one(4), 1.5, True),
)
