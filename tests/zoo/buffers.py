"""Buffers written, replaced and returned."""

from __future__ import annotations

import torch
from torch import nn

from tests.zoo.programs import f, i, program, r

M2 = [(f([[1.0, 2.0], [3.0, 4.0]]),), (f([[-1.0, 2.0], [-3.0, -4.0]]),)]


@program((r(2, 2),), (r(5, 2, seed=1),), (r(0, 2, seed=1),), dynamic=({0},))
class RingBuffer(nn.Module):
    """A ring buffer written at its own position."""

    def __init__(self):
        super().__init__()
        self.register_buffer("buf", torch.zeros(3, 2))
        self.register_buffer("pos", torch.tensor(0))

    def forward(self, x):
        for row in x:
            self.buf[self.pos] = row
            self.pos = (self.pos + 1) % 3
        return (self.buf.sum(0), self.pos)


@program((f(1.0, 2.0),), (f(1.0, 3.0),), (f(1.0, 2.0),), (f(5.0, 0.0),), (f(1.0, 1.0),))
class ToggleBuffer(nn.Module):
    """A flag that one call leaves for the next."""

    def __init__(self):
        super().__init__()
        self.register_buffer("flag", torch.tensor(False))

    def forward(self, x):
        if self.flag:
            x = x * 2
        if x.sum() > 3:
            self.flag.logical_not_()
        return x


@program((f(1.0, 2.0),), (f(-1.0, 2.0),), (f(5.0, 2.0),))
class LastSeen(nn.Module):
    """A buffer replaced, another filled on one path."""

    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(2))
        self.register_buffer("best", torch.tensor(-1000000000.0))

    def forward(self, x):
        d = (x - self.last).abs().sum()
        self.last = x.clone()
        if x.sum() > self.best:
            self.best.fill_(x.sum())
            d = -d
        return d


@program((f(1.0, 2.0),), (f(-1.0, -2.0),), (f(5.0, 5.0),), (f(1.0, 1.0),))
class BufInLoop(nn.Module):
    """Buffers written in place in a loop that they steer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("s", torch.zeros(4))
        self.register_buffer("k", torch.tensor(0))

    def forward(self, x):
        while self.s.sum() < x.sum():
            self.s[self.k % 4] += 1
            self.k += 1
        return (self.s.clone(), self.k.clone())


@program(
    (f(1.0, 2.0),),
    (f(-1.0, -2.0),),
    (f(5.0, 5.0),),
    pending_stages=("saved",),
)
class BufReturned(nn.Module):
    """The tensor that a buffer was before is returned."""

    def __init__(self):
        super().__init__()
        self.register_buffer("s", torch.zeros(2))

    def forward(self, x):
        old = self.s
        self.s = self.s + x
        if x.sum() > 0:
            old.add_(1)
        return (old, self.s)


@program((f(1.0, 2.0),), (f(-1.0, -2.0),), (f(5.0, 5.0),))
class EMA(nn.Module):
    """A running average of weights, set up by the first call."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.register_buffer("w", torch.zeros(2, 2))
        self.register_buffer("ready", torch.tensor(False))

    def forward(self, x):
        if not self.ready:
            self.w.copy_(self.fc.weight.detach())
            self.ready.fill_(True)
        else:
            self.w.lerp_(self.fc.weight.detach(), 0.5)
        return x @ self.w


@program((f(1.0, 2.0), i(2)), (f(-1.0, -2.0), i(0)), (f(3.0, 2.0), i(5)))
def swap_buffers(x, n):
    """Two tensors exchange names and are written in place."""
    a, c = (x.clone(), x.clone() * 2)
    for k in range(n):
        a, c = (c, a)
        a.add_(k)
    return (a, c)


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def alias_or_clone(x):
    """An alias or a copy by data, then written in place."""
    y = x if x.sum() > 0 else x.clone()
    y.add_(10)
    return (x, y)


@program((f([[1.0, 2.0], [3.0, 4.0]]),), (f([[-1.0, 2.0], [-3.0, -4.0]]),))
def flatten_maybe_copy(x):
    """`flatten` and `reshape` are views or copies, by layout."""
    y = x.clone()
    y.flatten()[0] = 100
    y.t().flatten()[1] = 200
    y.t().reshape(-1)[2] = 300
    y.T[0].mul_(2)
    return y


@program((f([[1.0, 2.0], [3.0, 4.0]]),), (f([[-1.0, 2.0], [-3.0, -4.0]]),))
def split_views(x):
    """Writes through `split`, `unbind` and `chunk`."""
    y = x.clone()
    a, c = y.split(1)
    if x.sum() > 0:
        a.zero_()
    else:
        c.fill_(4)
    y.unbind(1)[0].add_(0.5)
    y.chunk(2, 1)[1].neg_()
    return y


@program((f(1.0, 2.0), i(0, 0, 1)), (f(1.0, 2.0), i(1, 1, 1)))
def dup_index_add(x, k):
    """Writes by an index that repeats."""
    x = x.clone()
    x[k] += 1
    x.index_add_(0, k, torch.ones(3))
    x.index_put_((k,), torch.ones(3), accumulate=True)
    return x


@program((f(3.0, 1.0, 2.0),), (f(1.0, 2.0),), (f(5.0, 4.0, 3.0, 2.0),), dynamic=({0},))
def bubble_sort(x):
    """Neighbours exchanged in place."""
    y = x.clone()
    n = y.shape[0]
    for a in range(n):
        for c in range(n - a - 1):
            if y[c] > y[c + 1]:
                tmp = y[c].clone()
                y[c] = y[c + 1]
                y[c + 1] = tmp
    return y


@program((r(3, 2),), (r(5, 2, seed=1),), (r(1, 2, seed=2),), dynamic=({0},))
class AverageWithoutGradient(nn.Module):
    """A running average that asks its buffer for a gradient, which it never has."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(2))

    def forward(self, x):
        new = x.mean(0)
        if self.mean.grad is not None:
            new = new + self.mean.grad
            self.mean.grad = None
        self.mean.mul_(0.9).add_(new, alpha=0.1)
        return x - self.mean


@program((r(3, 2),), (r(5, 2, seed=1),), (r(1, 2, seed=2),), dynamic=({0},))
class ConvertedForNothing(nn.Module):
    """`to` of a module, and `.data` set to itself, where nothing has to be converted."""

    def __init__(self):
        super().__init__()
        self.line, self.norm = nn.Linear(2, 2), nn.BatchNorm1d(2)
        self.eval()

    def forward(self, x):
        self.to(x.device).float()
        self.line.weight.data = self.line.weight.data.to(device=x.device, dtype=x.dtype)
        return self.norm.cpu()(self.line(x))
