"""`for` over `range` with data-dependent bounds."""

import torch
from corpuslib import Case, f, i, r

SUP = dict(paddle_listed="supported")


def range_item_n(x, n):
    acc = torch.zeros_like(x)
    for k in range(int(n.item())):
        acc = acc + x**k
    return acc


def range_start_stop_step(n):
    total = torch.zeros((), dtype=torch.int64)
    for k in range(1, n, 2):
        total = total * 2 + k
    return total


def range_shape(x):
    acc = torch.zeros(x.shape[1])
    for k in range(x.shape[0]):
        acc = acc + x[k] * k
    return acc


def range_negative_step(x):
    run = torch.zeros(())
    out = torch.zeros_like(x)
    for k in range(x.size(0) - 1, -1, -1):
        run = run * 0.5 + x[k]
        out = torch.where(torch.arange(x.size(0)) == k, run, out)
    return out


def range_loop_var_after(x, n):
    k = -1
    for k in range(n):
        x = x + 1
    return x * k


def range_if_inside(x):
    hits = 0
    for k in range(3):
        if x[k] > 0:
            hits = hits + 1
            x = x - 0.5
        else:
            x = x + 0.25
    return x, hits


def range_used_before_created(x, n):
    out = x
    for k in range(n):
        if k > 0:
            out = out + prev
        prev = x * k
    return out


CASES = [
    Case(
        "range_item_n",
        range_item_n,
        [(f(1.0, 2.0), i(3)), (f(1.0, 2.0), i(1)), (f(0.5, 2.0), i(5))],
        paths=3,
        origin="paddle for_in_range (.item())",
        **SUP,
    ),
    Case(
        "range_start_stop_step",
        range_start_stop_step,
        [(i(6),), (i(1),), (i(11),)],
        paths=3,
        origin="paddle for_loop_dyfunc3",
        **SUP,
    ),
    Case(
        "range_shape",
        range_shape,
        [(r(0, 3, 2),), (r(1, 5, 2),), (r(1, 1, 2),)],
        ({0: "N"},),
        paths=3,
        origin="paddle dyfunc_with_for_1",
        **SUP,
    ),
    Case(
        "range_negative_step",
        range_negative_step,
        [(r(0, 3),), (r(1, 6),), (r(1, 2),)],
        ({0: "N"},),
        paths=3,
        origin="paddle for_loop_dyfunc4",
        **SUP,
    ),
    Case(
        "range_loop_var_after",
        range_loop_var_after,
        [(f(1.0, 2.0), i(3)), (f(1.0, 2.0), i(5)), (f(1.0, 2.0), i(0))],
        paths=3,
        origin="autograph loop_scoping",
        **SUP,
    ),
    Case(
        "range_if_inside",
        range_if_inside,
        [(f(1.0, -1.0, 1.0),), (f(-1.0, -1.0, -1.0),), (f(3.0, 3.0, 3.0),)],
        paths=3,
        origin="paddle ifelse in for",
        **SUP,
    ),
    Case(
        "range_used_before_created",
        range_used_before_created,
        [(f(1.0, 2.0), i(3)), (f(1.0, 2.0), i(1)), (f(1.0, 2.0), i(5))],
        paths=3,
        origin="paddle for_loop_dyfunc2",
        **SUP,
    ),
]
