"""`print`, `len` and lambdas."""

import torch
from corpuslib import Case, f, i, r

SUP = dict(paddle_listed="supported")


def print_in_branch(x):
    if x.sum() > 0:
        print(f"[tag] positive {x.sum()}")
        x = x + 1
    else:
        print("[tag] other", x.min(), sep="=")
        x = x - 1
    return x


def len_of_tensor(x):
    n = len(x)
    if n > 2:
        return x.sum(0) / n
    return x.sum(0) * n


def len_of_grown_list(x, n):
    parts = []
    while len(parts) < n:
        parts.append(x * len(parts))
    return torch.stack(parts).sum(0) / len(parts)


def lambda_basic(x):
    add = lambda a, c: a + c
    y = add(x, add(x, 1))
    return (lambda t: t.mean())(y)


def lambda_ternary_body(x):
    act = lambda t: t.relu() if t.sum() > 0 else t.abs() * 0.1
    return act(x) + act(-x)


def map_filter_rows(x):
    sums = list(map(lambda row: row.sum(), x))
    return torch.stack(sums)


CASES = [
    Case(
        "print_in_branch",
        print_in_branch,
        [(f(1.0, 2.0),), (f(-3.0, -4.0),)],
        stdout=True,
        origin="paddle test_print_with_format",
        **SUP,
    ),
    Case(
        "len_of_tensor",
        len_of_tensor,
        [(r(0, 3, 2),), (r(1, 2, 2),), (r(2, 5, 2),)],
        ({0: "N"},),
        origin="paddle test_len",
        **SUP,
    ),
    Case(
        "len_of_grown_list",
        len_of_grown_list,
        [(f(1.0, 2.0), i(3)), (f(1.0, 2.0), i(1)), (f(1.0, 2.0), i(6))],
        paths=3,
        origin="paddle len_with_lod_tensor_array",
        **SUP,
    ),
    Case(
        "lambda_basic",
        lambda_basic,
        [(f(1.0, 2.0),), (f(-1.0, 7.0),)],
        paths=1,
        origin="paddle call_lambda_as_func",
        **SUP,
    ),
    Case(
        "lambda_ternary_body",
        lambda_ternary_body,
        [(f(1.0, 2.0),), (f(-1.0, -7.0),)],
        origin="paddle call_lambda_with_if_expr",
        **SUP,
    ),
    Case(
        "map_rows",
        map_filter_rows,
        [(r(0, 3, 2),), (r(1, 5, 2),)],
        ({0: "N"},),
        paths=2,
        origin="autograph py_builtins map",
    ),
]
