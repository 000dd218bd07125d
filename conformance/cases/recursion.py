"""Recursion with a data-dependent depth."""

import torch
from corpuslib import Case, f, i, r

UNS = dict(paddle_listed="unsupported")


def recur_square(x):
    if x.max() > 10:
        return x
    return recur_square(x * x)


def _depth(x, d):
    if d == 0:
        return x if x.sum() > 0 else x * 0
    return _depth(x * 2 + d, d - 1)


def recur_static_depth(x):
    return _depth(x, 3)


def recur_fibonacci(n):
    if n < 2:
        return n
    return recur_fibonacci(n - 1) + recur_fibonacci(n - 2)


def _power(x, n):
    if n == 0:
        return torch.ones_like(x)
    half = _power(x, n // 2)
    if n % 2 == 0:
        return half * half
    return half * half * x


def recur_power(x, n):
    return _power(x, n)


def recur_pairwise_sum(x):
    if x.shape[0] <= 2:
        return x.sum(0)
    mid = x.shape[0] // 2
    return recur_pairwise_sum(x[:mid]) * 2 + recur_pairwise_sum(x[mid:])


CASES = [
    Case(
        "recur_square",
        recur_square,
        [(f(2.0, 1.0),), (f(11.0, 1.0),), (f(1.2, 1.0),)],
        paths=3,
        origin="paddle grammar list: recursion",
        **UNS,
    ),
    Case(
        "recur_static_depth",
        recur_static_depth,
        [(f(2.0, 1.0),), (f(-11.0, 1.0),)],
        origin="autograph recursive function",
        paddle_listed="unlisted",
    ),
    Case(
        "recur_fibonacci",
        recur_fibonacci,
        [(i(5),), (i(1),), (i(8),)],
        paths=3,
        origin="autograph fibonacci",
        **UNS,
    ),
    Case(
        "recur_power",
        recur_power,
        [(f(2.0, 1.1), i(5)), (f(2.0, 1.1), i(0)), (f(2.0, 1.1), i(8))],
        paths=3,
        origin="own",
        **UNS,
    ),
    Case(
        "recur_pairwise_sum",
        recur_pairwise_sum,
        [(r(0, 4, 2),), (r(1, 2, 2),), (r(2, 7, 2),)],
        ({0: "N"},),
        paths=3,
        origin="own (shape recursion)",
        **UNS,
    ),
]
