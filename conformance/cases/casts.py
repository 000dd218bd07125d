"""`int`, `float` and `bool` of tensors."""

import torch
from corpuslib import Case, f, i

SUP = dict(paddle_listed="supported")


def int_cast_index(x, k):
    return x[int(k)] * 2


def bool_cast_branch(x):
    flag = bool(x.sum() > 0)
    return x if flag else -x


def item_arithmetic(x):
    hi, lo = x.max().item(), x.min().item()
    if hi - lo > 1:
        return (x - lo) / (hi - lo)
    return x - lo


def tolist_total(x):
    total = 0
    for v in x.tolist():
        total += v * v
    return torch.tensor(total)


def int_cast_size(x, n):
    base = torch.zeros(int(n), 2)
    return base + x


CASES = [
    Case(
        "int_cast_index",
        int_cast_index,
        [(f(1.0, 2.0, 3.0), i(0)), (f(1.0, 2.0, 3.0), i(2))],
        paths=1,
        origin="paddle test_int_cast",
        **SUP,
    ),
    Case(
        "bool_cast_branch",
        bool_cast_branch,
        [(f(1.0, 2.0),), (f(-1.0, -5.0),)],
        origin="paddle test_bool_cast",
        **SUP,
    ),
    Case(
        "item_arithmetic",
        item_arithmetic,
        [(f(1.0, 2.0, 5.0),), (f(0.1, 0.2, 0.3),)],
        origin="torch exportdb scalar_output",
    ),
    Case(
        "tolist_total",
        tolist_total,
        [(f(1.0, 2.0, 5.0),), (f(1.0, 3.0),), (f(4.0, 5.0, 6.0, 7.0),)],
        ({0: "N"},),
        paths=3,
        origin="own",
    ),
    Case(
        "int_cast_size",
        int_cast_size,
        [(f(1.0, 2.0), i(3)), (f(1.0, 2.0), i(1)), (f(1.0, 2.0), i(5))],
        paths=1,
        origin="torch exportdb dynamic_shape_constructor / constrain_as_size",
        **SUP,
    ),
]
