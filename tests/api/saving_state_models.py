"""Models that keep something in attributes from one call to the next."""

from __future__ import annotations

import torch


class Counter(torch.nn.Module):
    """Numbers: a count and a sum."""

    def __init__(self):
        super().__init__()
        self.steps = 0
        self.total = 0.0

    def forward(self, x):
        self.steps += 1
        self.total = self.total + 0.5
        return x * self.steps + self.total, self.steps


class LastOutput(torch.nn.Module):
    """An attribute that the first call creates, and one that is None before it."""

    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 3)
        self.last = None

    def forward(self, x):
        y = self.lin(x)
        change = torch.zeros(()) if self.last is None else y.sum() - self.last.sum()
        self.largest = y.max()
        self.last = y.detach()
        return y, change


class Attention(torch.nn.Module):
    """One layer of a decoder, with a cache of keys and values."""

    def __init__(self, size):
        super().__init__()
        self.qkv = torch.nn.Linear(size, 3 * size)
        self.cache = None

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        if self.cache is not None:
            k, v = torch.cat([self.cache[0], k], 1), torch.cat([self.cache[1], v], 1)
        self.cache = (k, v)
        return torch.softmax(q @ k.transpose(1, 2), -1) @ v


class Decoder(torch.nn.Module):
    """Two layers with caches, and a position that advances."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Attention(4), Attention(4)])
        self.position = 0

    def forward(self, x):
        x = x + torch.arange(self.position, self.position + x.shape[1])[:, None] * 0.1
        for layer in self.layers:
            x = x + layer(x)
        self.position += x.shape[1]
        return x

    def forget(self, x):
        for layer in self.layers:
            layer.cache = None
        self.position = 0
        return x

    def length(self, x):
        return x * 0 + self.position


class ListCache(torch.nn.Module):
    """A list that grows, and is cut when it is long."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, x):
        self.seen.append(x.sum(-1))
        if len(self.seen) > 3:
            self.seen = self.seen[1:]
        return torch.stack(self.seen).sum(0), len(self.seen)


class RunningMean(torch.nn.Module):
    """Statistics that are made at the first call and changed in place after it."""

    def __init__(self):
        super().__init__()
        self.mean = None
        self.stats = {"count": 0, "square": torch.zeros(3)}

    def forward(self, x):
        now = x.mean(0)
        if self.mean is None:
            self.mean = now.clone()
        else:
            self.mean.mul_(0.9).add_(now, alpha=0.1)
        self.stats["count"] += x.shape[0]
        self.stats["square"] = self.stats["square"] + (x * x).sum(0)
        return (x - self.mean) / (self.stats["square"] / self.stats["count"]).sqrt()


class Branching(torch.nn.Module):
    """State that is changed on some paths, in loops, and by the data."""

    def __init__(self):
        super().__init__()
        self.is_warm = False
        self.mode = "cold"
        self.best = torch.tensor(-1e9)
        self.kept = []
        self.rounds = 0

    def forward(self, x):
        if x.sum() > 0:
            self.is_warm = True
            self.mode = "warm"
            self.kept.append(x.mean())
        while self.rounds < 10 and x.sum() > self.rounds:
            self.rounds += 1
        if x.max() > self.best:
            self.best = x.max()
        scale = 2.0 if self.is_warm else 1.0
        bonus = 1.0 if self.mode == "warm" else 0.0
        return x * scale + bonus + self.rounds, self.best, len(self.kept)


class Fails(torch.nn.Module):
    """A call that raises in the middle."""

    def __init__(self):
        super().__init__()
        self.begun = 0
        self.done = 0
        self.inputs = []

    def forward(self, x):
        self.begun += 1
        self.inputs.append(x.sum())
        if x.sum() < 0:
            self.begun += 100
            raise ValueError("negative")
        self.done += 1
        return x + self.begun * 10 + self.done + len(self.inputs)


class Caught(torch.nn.Module):
    """Errors that are caught, and a flag that is put back in any case."""

    def __init__(self):
        super().__init__()
        self.errors = 0
        self.busy = False
        self.times = 0

    def part(self, x):
        self.times += 1
        if x.sum() < 0:
            raise ValueError("negative")
        return x * 2

    def forward(self, x):
        was_busy = self.busy
        self.busy = True
        try:
            y = self.part(x)
        except ValueError:
            self.errors += 1
            y = x
        finally:
            self.busy = False
        return y + self.errors * 10 + self.times, was_busy


class Stays(torch.nn.Module):
    """A flag that an error leaves set."""

    def __init__(self):
        super().__init__()
        self.busy = False

    def forward(self, x):
        was_busy = self.busy
        self.busy = True
        if x.sum() < 0:
            raise ValueError("negative")
        self.busy = False
        return x + (1.0 if was_busy else 0.0)


class Stats:
    """A plain object."""

    def __init__(self):
        self.count = 0
        self.values = [torch.zeros(()), torch.zeros(())]


class WithObject(torch.nn.Module):
    """An object, shared by two modules."""

    def __init__(self):
        super().__init__()
        self.stats = Stats()
        self.inner = torch.nn.Module()
        self.inner.stats = self.stats

    def forward(self, x):
        self.stats.count += 1
        self.inner.stats.values[0] = self.inner.stats.values[0] + x.sum()
        return x * self.inner.stats.count + self.stats.values[0]


class Recurrent(torch.nn.Module):
    """A hidden state with gradients through time."""

    def __init__(self):
        super().__init__()
        self.cell = torch.nn.GRUCell(3, 3)
        self.register_buffer("hidden", None)

    def forward(self, x):
        self.hidden = self.cell(x, self.hidden)
        return self.hidden


class Nested(torch.nn.Module):
    """Lists of tuples, and a dict of tensors that is filled by the first call."""

    def __init__(self):
        super().__init__()
        self.pairs = []
        self.table = {}

    def forward(self, x):
        self.pairs.append((x.sum(), x.shape[0]))
        self.table["last"] = x.mean()
        rows = 0
        total = x.sum() * 0
        for value, count in self.pairs:
            total = total + value
            rows = rows + count
        return total, rows, self.table["last"]
