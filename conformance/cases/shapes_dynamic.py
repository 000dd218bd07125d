"""Shapes that depend on data or vary between calls."""

import torch
from corpuslib import Case, f, i, r

SUP = dict(paddle_listed="supported")
UNS = dict(paddle_listed="unsupported")
N = ({0: "N"},)


def branch_on_batch(x):
    if x.shape[0] > 3:
        return x.mean(0)
    return x.sum(0)


def reshape_then_shape(x):
    y = x.reshape(-1, 2)
    if y.shape[0] > 3:
        y = y[:3]
    return y * y.shape[0]


def nonzero_count_branch(x):
    idx = (x > 0).nonzero().squeeze(1)
    if idx.shape[0] > 2:
        return x[idx].sum()
    return x.sum() * idx.shape[0]


def transpose_by_shape(x):
    a, c = x.shape
    y = x.reshape(-1, 1)
    return y.reshape(c, a) * (a + c)


def mask_by_length(x, n):
    m = torch.arange(x.size(1)).unsqueeze(0) < n.unsqueeze(1)
    x = x.masked_fill(~m, 0.0)
    return x.sum(1) / n.clamp(min=1)


def shape_equality(x, y):
    if x.shape == y.shape:
        return x + y
    return x.sum() + y.sum()


def unique_then_loop(x):
    u = torch.unique(x)
    out = torch.zeros(())
    for v in u:
        out = out * 10 + v
    return out, u.shape[0]


CASES = [
    Case(
        "branch_on_batch",
        branch_on_batch,
        [(r(0, 3, 2),), (r(1, 5, 2),), (r(2, 2, 2),)],
        N,
        origin="paddle nested_if_else (x.shape[0])",
        **SUP,
    ),
    Case(
        "reshape_then_shape",
        reshape_then_shape,
        [(r(0, 4),), (r(1, 10),), (r(2, 6),)],
        N,
        origin="paddle grammar list: shape after reshape",
        **UNS,
    ),
    Case(
        "nonzero_count_branch",
        nonzero_count_branch,
        [(f(1.0, 2.0, -1.0, 3.0),), (f(1.0, -2.0, -1.0, -3.0),), (f(-1.0, -1.0, -1.0, -1.0),)],
        origin="own (data-dependent size)",
    ),
    Case(
        "transpose_by_shape",
        transpose_by_shape,
        [(r(0, 2, 3),), (r(1, 4, 5),)],
        ({0: "N", 1: "M"},),
        paths=1,
        origin="paddle dyfunc_change_shape_after_assign",
        **UNS,
    ),
    Case(
        "mask_by_length",
        mask_by_length,
        [(r(0, 2, 4), i(2, 4)), (r(1, 3, 6), i(1, 0, 6))],
        ({0: "N", 1: "T"}, {0: "N"}),
        paths=1,
        origin="torch exportdb dynamic_shape_view",
        **SUP,
    ),
    Case(
        "shape_equality",
        shape_equality,
        [(r(0, 3), r(1, 3)), (r(1, 5), r(2, 4)), (r(1, 2), r(2, 2))],
        ({0: "N"}, {0: "M"}),
        origin="paddle test_shape_equal",
        **SUP,
    ),
    Case(
        "unique_then_loop",
        unique_then_loop,
        [(i(1, 2, 2, 3),), (i(5, 5, 5, 5),), (i(4, 3, 2, 1),)],
        paths=3,
        origin="own (data-dependent size)",
    ),
]
