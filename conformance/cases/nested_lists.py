"""Lists of lists."""

import torch
from corpuslib import Case, f, i

UNS = dict(paddle_listed="unsupported")
NS = [(f(1.0, 2.0), i(3)), (f(1.0, 2.0), i(2)), (f(3.0, 2.0), i(5))]


def nested_append_in_tensor_loop(x, n):
    grid = [[], []]
    for k in range(n):
        grid[k % 2].append(x * (k + 1))
    return torch.stack(grid[0]).sum(0) - torch.stack(grid[1]).sum(0)


def nested_write_in_branch(x):
    l = [[x, x], [x]]
    if x.sum() > 0:
        l[0][1] = x * 5
    else:
        l[1][0] = x * 7
        l[0].append(x)
    return l[0][0] + l[0][1] + l[1][0]


def buckets_by_value(x):
    buckets = [[torch.zeros(())] for _ in range(3)]
    for v in x:
        buckets[int(v) % 3].append(v)
    return torch.stack([torch.stack(bk).sum() for bk in buckets])


def grid_returned(x, y):
    rows = []
    for a in (x, y):
        row = []
        for c in (x, y):
            if (a * c).sum() > 0:
                row.append(a * c)
            else:
                row.append(a - c)
        rows.append(row)
    return rows


CASES = [
    Case(
        "nested_append_in_tensor_loop",
        nested_append_in_tensor_loop,
        NS,
        paths=3,
        origin="paddle grammar list: nested list",
        **UNS,
    ),
    Case(
        "nested_write_in_branch",
        nested_write_in_branch,
        [(f(1.0, 2.0),), (f(-1.0, -2.0),)],
        origin="paddle func_ifelse_write_nest_dict_list",
        **UNS,
    ),
    Case(
        "buckets_by_value",
        buckets_by_value,
        [(f(1.0, 2.0, 3.0, 4.0),), (f(0.0, 0.0, 3.0),)],
        ({0: "N"},),
        paths=2,
        origin="own",
        **UNS,
    ),
    Case(
        "grid_returned",
        grid_returned,
        [(f(1.0, 2.0), f(3.0, 4.0)), (f(-1.0, 2.0), f(9.0, 1.0))],
        origin="paddle grammar list: nested list",
        **UNS,
    ),
]
