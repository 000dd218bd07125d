"""`for` over tensors, `enumerate` and `zip`."""

import torch
from corpuslib import Case, f, r

SUP = dict(paddle_listed="supported")
N = ({0: "N"},)


def zip_two_tensors(x, y):
    d = torch.zeros(())
    for a, c in zip(x, y):
        d = torch.maximum(d, (a - c).abs().max())
    return d


def for_list_input(xs):
    z = torch.zeros(2)
    for t in xs:
        if t.sum() > 0:
            z = z + t
        else:
            z = z * t
    return z


def for_split_chunks(x):
    outs = 0.0
    for c in torch.split(x, 2, dim=0):
        outs = outs * 2 + c.max()
    return outs


def running_max_with_index(x):
    best = x[0]
    at = torch.zeros((), dtype=torch.int64)
    for k, v in enumerate(x):
        if v > best:
            best = v
            at = torch.zeros((), dtype=torch.int64) + k
    return best, at


def for_nested_elements(x):
    count = 0
    total = torch.zeros(())
    for row in x:
        for v in row:
            if v > 0:
                count += 1
                total = total + v
    return total, count


def for_pair_unpack(x):
    acc = torch.zeros(())
    for lo, hi in x:
        if hi > lo:
            acc = acc + (hi - lo)
    return acc


CASES = [
    Case(
        "zip_two_tensors",
        zip_two_tensors,
        [(r(0, 3, 2), r(5, 3, 2)), (r(1, 5, 2), r(6, 5, 2))],
        ({0: "N"}, {0: "N"}),
        origin="autograph loop zip",
        **SUP,
    ),
    Case(
        "for_list_input",
        for_list_input,
        [
            ([f(1.0, 2.0), f(3.0, 1.0)],),
            ([f(1.0, 2.0), f(-3.0, 1.0)],),
            ([f(-1.0, -2.0), f(3.0, 1.0)],),
        ],
        paths=3,
        origin="paddle for_iter_list",
        **SUP,
    ),
    Case(
        "for_split_chunks",
        for_split_chunks,
        [(r(0, 4, 2),), (r(1, 7, 2),), (r(2, 2, 2),)],
        N,
        paths=3,
        origin="own",
    ),
    Case(
        "running_max_with_index",
        running_max_with_index,
        [(f(3.0, 1.0, 2.0),), (f(1.0, 2.0, 3.0, 4.0),), (f(1.0, 1.0),)],
        N,
        paths=3,
        origin="autograph loop + if",
        **SUP,
    ),
    Case(
        "for_nested_elements",
        for_nested_elements,
        [(r(0, 2, 3),), (r(1, 3, 2),)],
        ({0: "N", 1: "M"},),
        origin="autograph nested for",
        **SUP,
    ),
    Case(
        "for_pair_unpack",
        for_pair_unpack,
        [(f([[0.0, 1.0], [2.0, 1.0]]),), (f([[0.0, 1.0], [1.0, 3.0], [1.0, 2.0]]),)],
        N,
        origin="own",
    ),
]
