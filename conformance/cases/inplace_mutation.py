"""In-place changes of tensors."""

import torch
from corpuslib import Case, f, i, r
from torch import nn


def setitem_const_index(x):
    x = x.clone()
    x[0] = 7
    x[1:, 0] += 10
    x[..., -1] = x[..., 0] * 2
    return x


def setitem_in_branch(x, c):
    x = x.clone()
    x[:] = x * 0
    if c > 0:
        x[0] = 1
    else:
        x[1:] = 2
    return x


def setitem_row_loop(x):
    out = torch.zeros_like(x)
    for k in range(x.shape[0]):
        if x[k].sum() > 0:
            out[k] = x[k] * k
        else:
            out[k] = -1.0
    return out


def augassign_alias(x):
    y = x.clone()
    z = y
    if x.sum() > 0:
        y += 1
    y = y * 2
    return y, z


def view_write_through(x):
    y = x.clone()
    head = y[0]
    head.mul_(10)
    cols = y.t()
    if x.sum() > 0:
        cols[0].zero_()
    return y


def fill_buffer_in_while(x, n):
    buf = torch.zeros(6, 2)
    k = torch.zeros((), dtype=torch.int64)
    while k < n:
        buf[k] = x + k
        k += 1
    return buf


class RunningMean(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(2))

    def forward(self, x):
        if x.abs().max() < 100:
            self.mean.copy_(self.mean * 0.5 + x.mean(0) * 0.5)
        return x - self.mean


CASES = [
    Case(
        "setitem_const_index",
        setitem_const_index,
        [(r(0, 3, 2),), (r(1, 5, 2),)],
        ({0: "N"},),
        paths=1,
        origin="paddle test_set_value",
        paddle_listed="supported",
    ),
    Case(
        "setitem_in_branch",
        setitem_in_branch,
        [(f(1.0, 2.0, 3.0), f(1.0)), (f(1.0, 2.0, 3.0), f(-1.0))],
        origin="paddle test_set_value_in_cond",
    ),
    Case(
        "setitem_row_loop",
        setitem_row_loop,
        [(r(0, 3, 2),), (r(1, 5, 2),), (r(2, 1, 2),)],
        ({0: "N"},),
        paths=3,
        origin="paddle test_jit_setitem",
    ),
    Case(
        "augassign_alias",
        augassign_alias,
        [(f(1.0, 2.0),), (f(-1.0, -2.0),)],
        origin="paddle test_deal_inplace",
    ),
    Case(
        "view_write_through",
        view_write_through,
        [(f([[1.0, 2.0], [3.0, 4.0]]),), (f([[-1.0, -2.0], [-3.0, -4.0]]),)],
        origin="own (views)",
    ),
    Case(
        "fill_buffer_in_while",
        fill_buffer_in_while,
        [(f(1.0, 2.0), i(3)), (f(1.0, 2.0), i(0)), (f(1.0, 2.0), i(6))],
        paths=3,
        origin="own",
    ),
    Case(
        "buffer_running_mean",
        RunningMean,
        [(f([[1.0, 2.0]]),), (f([[1000.0, 2.0]]),), (f([[3.0, 2.0]]),)],
        stateful=True,
        origin="own (batch-norm like)",
    ),
]
