"""Gradients through everything that a loop or a branch may do."""

from __future__ import annotations

import copy
import math

import torch
from torch import nn
from torch.nn import functional

from tests.zoo.programs import f, i, program, r


def _rec(x, w, n):
    if n <= 0:
        return x * w
    return torch.sin(_rec(x, w, n - 1)) + w


@program((r(3, 2), f(0.5, 0.7)), (r(3, 2, seed=1), f(0.5, 0.7)), trains=True)
def train_inplace_buffer(x, w):
    """Rows of a buffer written or added to by data."""
    buf = torch.zeros(3, 2)
    for k in range(3):
        if x[k].sum() > 0:
            buf[k] = x[k] * w
        else:
            buf[k] += x[k] ** 2
    return buf.sum(1)


@program((f(1.0, -2.0), f(0.5, 0.7)), (f(-1.0, 9.0), f(0.5, 0.7)), trains=True)
def train_masked_assign(x, w):
    """A mask sets, then one item is scaled in place."""
    y = x * w
    y = y.clone()
    y[y < 0] = 0
    if y.max() > 1:
        y[0] *= 2
    return y


@program(
    (f(1.0, 2.0), f(0.5, 0.7), i(2)),
    (f(-1.0, -2.0), f(0.5, 0.7), i(0)),
    (f(0.1, 0.2), f(0.5, 0.7), i(4)),
    trains=True,
)
def train_rec(x, w, n):
    """Through recursion."""
    return _rec(x, w, n)


@program((f(1.0, 2.0), f(0.5, 0.7)), (f(-1.0, -2.0), f(0.5, 0.7)), trains=True)
def train_detach_branch(x, w):
    """Through a detach on one path."""
    y = x * w
    if y.sum() > 0:
        y = y.detach() + x
    return y


@program((f(1.0, 2.0), f(0.5, 0.7)), (f(-0.1, -0.2), f(0.5, 0.7)), trains=True)
def train_no_grad_scale(x, w):
    """A scale found without gradients."""
    with torch.no_grad():
        s = (x * w).norm()
    if s > 1:
        return x * w / s
    return x * w


@program((i(0, 1), i(2)), (i(3, 3), i(0)), (i(2, 4), i(4)), trains=True)
class TrainSharedInLoop(nn.Module):
    """An embedding used in and out of a loop with a break."""

    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(5, 3)
        self.fc = nn.Linear(3, 5)

    def forward(self, tok, n):
        h = self.emb(tok)
        for _ in range(n):
            p = self.fc(h).softmax(-1)
            h = h * 0.5 + p @ self.emb.weight
            if p.max() > 0.9:
                break
        return h


@program(
    (f(1.0, 2.0, -1.0), f(0.5)),
    (f(-1.0, -2.0), f(0.5)),
    (f(3.0, 4.0, 5.0, 6.0), f(0.5)),
    dynamic=({0}, None),
    trains=True,
)
def train_filter_comp(x, w):
    """Through a comprehension with a filter."""
    kept = [v * w for v in x if v > 0]
    if len(kept) == 0:
        return w * 0
    return torch.stack(kept).sum()


@program(
    (f(1.0, 2.0), f(0.5, 0.7)), (f(0.1, 0.2), f(0.5, 0.7)), (f(9.0, 2.0), f(0.5, 0.7)), trains=True
)
def train_generator(x, w):
    """Through a generator with a tensor stop."""

    def gen(t):
        while t.abs().sum() > 1:
            t = t * w
            yield t

    s = x * 0
    for t in gen(x):
        s = s + t
    return s


@program((f(1.0, 2.0), f(0.5, 0.7)), (f(-1.0, -2.0), f(0.5, 0.7)), trains=True)
def train_max_python(x, y):
    """Through Python's `max` and `min`."""
    a = max(x.sum(), y.sum())
    c = min(x[0], 1.0)
    return a * c


@program((f(1.0, 2.0), f(0.5, 0.7)), (f(-1.0, -2.0), f(0.5, 0.7)), trains=True)
def train_try(x, w):
    """Through a handler."""
    try:
        if x.sum() < 0:
            raise ValueError
        y = x * w
    except ValueError:
        y = x * w * w
    return y


@program((r(3),), (r(3, seed=1, shift=3),), (r(3, seed=2, shift=-3),), trains=True)
class TrainUnusedBranch(nn.Module):
    """Parameters that a path does not use."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = nn.Linear(3, 3)
        self.c = nn.Parameter(torch.ones(3))

    def forward(self, x):
        if x.sum() > 0:
            return self.a(x)
        return self.b(x)


@program((r(3), i(2)), (r(3, seed=1), i(0)), (r(3, seed=2), i(5)), trains=True)
class RecursiveNet(nn.Module):
    """A module that calls itself."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x, n):
        if n <= 0:
            return x
        return self.forward(torch.tanh(self.fc(x)), n - 1)


class SquareThatSavesWhatIsNeeded(torch.autograd.Function):
    """Without a gradient to compute it saves nothing, and its backward could not run."""

    @staticmethod
    def forward(ctx, x):
        """Squares."""
        if any(ctx.needs_input_grad):
            ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        """Reads what the forward has saved."""
        return 2 * grad * ctx.saved_tensors[0]


@program((f(1.0, 2.0),), (f(-3.0, 1.0),))
def backward_that_no_run_needs(x):
    """Under `no_grad`, or of tensors that require none, the backward is never called."""
    with torch.no_grad():
        first = SquareThatSavesWhatIsNeeded.apply(x)
    return first + SquareThatSavesWhatIsNeeded.apply(x.detach())


class ScanOfPaddedRows(torch.autograd.Function):
    """Pads to a power of two, and adds up in place through views of views."""

    @staticmethod
    def forward(ctx, x):
        """Each second row gets what is before it."""
        size = 2 ** math.ceil(math.log2(x.shape[0]))
        rows = functional.pad(x, (0, 0, 0, size - x.shape[0])).transpose(0, 1)
        part = rows
        for _ in range(int(math.log2(size)) - 1):
            part = part.view(2, part.shape[1] // 2, 2)
            part[:, :, 1].add_(part[:, :, 0])
            part = part[:, :, 1]
        return rows.transpose(0, 1)[: x.shape[0]]

    @staticmethod
    def backward(ctx, grad):
        """Of another function; that is not the point."""
        return grad * 3


@program(
    (r(3, 2), r(2, seed=1)), (r(8, 2, seed=1), r(2)), (r(5, 2, seed=2), r(2)),
    dynamic=({0}, {}), trains=True,
)  # fmt: skip
def in_place_through_views_without_gradients(x, w):
    """Inside an `autograd.Function` padding gives a tensor that requires no gradient."""
    with torch.no_grad():
        padded = functional.pad(x * w, (0, 0, 0, x.shape[0] - 3))
    return ScanOfPaddedRows.apply(x * w), padded.requires_grad


@program((f(1.0, 2.0),), (f(-1.0, -2.0),), trains=True)
class CopiedLayer(nn.Module):
    """A copy of a layer, made and changed by the call, learns nothing for the original."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.layer.register_buffer("scale", torch.ones(2))

    def forward(self, x):
        other = copy.deepcopy(self.layer)
        with torch.no_grad():
            other.weight.add_(1)
            other.scale.mul_(3)
        if x.sum() > 0:
            return other(x) * other.scale, other.weight is self.layer.weight
        return self.layer(x) * self.layer.scale, other.weight.requires_grad
