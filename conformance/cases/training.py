"""Programs whose gradients are compared."""

import torch
from corpuslib import Case, f, i, r
from torch import nn

SUP = dict(paddle_listed="supported", train=True)


def train_piecewise(x):
    if x.sum() > 0:
        y = x**3
    else:
        y = x.abs() * 2
    return y.sum() + x.mean()


class TrainRNNUntilNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.RNNCell(3, 3)

    def forward(self, x, limit):
        h = x * 0.1
        tot = torch.zeros(())
        while h.abs().sum() + tot < limit:
            h = self.cell(x, h)
            tot = tot + 1.0
        return h


class TrainRepeatN(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x, n):
        for k in range(n):
            x = torch.tanh(self.a(x)) + x * 0.5
        return x.sum(-1)


class TrainBreakLoop(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.3, 0.7]))

    def forward(self, x):
        for k in range(10):
            x = x * self.w
            if x.abs().max() > 10:
                break
        return x


class TrainEarlyReturn(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = nn.Linear(3, 3)

    def forward(self, x):
        h = self.a(x)
        if h.mean() > 0.3:
            return h * 2
        return self.b(h).relu()


def train_setitem_loop(x, w):
    out = torch.zeros(x.shape[0])
    for k in range(x.shape[0]):
        if x[k] > 0:
            out[k] = x[k] * w
        else:
            out[k] = x[k] ** 2
    return out.cumsum(0)


class TrainFixedPoint(nn.Module):
    """Iterate z = tanh(Wz + x) until it settles, then differentiate through the unrolled loop."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(3, 3) * 0.3)

    def forward(self, x):
        z = torch.zeros_like(x)
        delta = torch.ones(())
        while delta > 1e-3:
            new = torch.tanh(z @ self.w + x)
            delta = (new - z).abs().max()
            z = new
        return z


CASES = [
    Case(
        "train_piecewise",
        train_piecewise,
        [(f(1.0, 2.0),), (f(-1.0, -2.0),)],
        origin="paddle test_ifelse (train)",
        **SUP,
    ),
    Case(
        "train_rnn_until_norm",
        TrainRNNUntilNorm,
        [(r(0, 2, 3), f(3.0)), (r(1, 2, 3), f(0.0)), (r(2, 2, 3), f(7.0))],
        paths=3,
        origin="paddle test_grad / test_ptb_lm",
        **SUP,
    ),
    Case(
        "train_repeat_n",
        TrainRepeatN,
        [(r(0, 2, 4), i(2)), (r(1, 3, 4), i(0)), (r(2, 1, 4), i(4))],
        ({0: "B"}, None),
        paths=3,
        origin="paddle test_loop grad",
        **SUP,
    ),
    Case(
        "train_break_loop",
        TrainBreakLoop,
        [(f(1.0, 2.0),), (f(9.0, 1.0),), (f(0.01, 0.01),)],
        paths=3,
        origin="paddle break in for (train)",
        **SUP,
    ),
    Case(
        "train_early_return",
        TrainEarlyReturn,
        [(r(0, 2, 3),), (r(1, 2, 3, shift=3),), (r(2, 2, 3, shift=-3),)],
        origin="paddle test_return (train)",
        **SUP,
    ),
    Case(
        "train_setitem_loop",
        train_setitem_loop,
        [(f(1.0, -2.0, 3.0), f(2.0)), (f(-1.0, 4.0), f(3.0))],
        ({0: "N"}, None),
        origin="paddle setitem grad",
        **SUP,
    ),
    Case(
        "train_fixed_point",
        TrainFixedPoint,
        [(r(0, 2, 3),), (r(1, 2, 3, scale=0.001),), (r(2, 2, 3, scale=5),)],
        paths=2,
        origin="own (deep equilibrium, unrolled)",
        **SUP,
    ),
]
