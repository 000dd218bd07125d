"""Generators and comprehensions."""

import torch
from corpuslib import Case, f, r

N = ({0: "N"},)


def genexp_sum(x):
    return sum(row.max() for row in x) / sum(1 for _ in x)


def dictcomp_const_keys(x):
    d = {f"p{k}": x**k for k in range(3)}
    return sum(v.sum() if v.sum() < 10 else v.max() for v in d.values())


def nested_comprehension(x):
    grid = [[(x[a] * x[c]).sum() for c in range(x.shape[0])] for a in range(x.shape[0])]
    return torch.stack([torch.stack(row) for row in grid])


def _halves(x):
    while x.max() > 1:
        yield x
        x = x / 2


def generator_until_tensor(x):
    total = torch.zeros_like(x)
    for t in _halves(x):
        total = total + t
    return total


CASES = [
    Case("genexp_sum", genexp_sum, [(r(0, 3, 2),), (r(1, 5, 2),)], N, origin="autograph generator"),
    Case(
        "dictcomp_const_keys",
        dictcomp_const_keys,
        [(f(1.0, 2.0),), (f(5.0, 6.0),)],
        origin="paddle TestDictCmpInFor",
    ),
    Case(
        "nested_comprehension",
        nested_comprehension,
        [(r(0, 2, 2),), (r(1, 4, 2),)],
        N,
        origin="own",
    ),
    Case(
        "generator_until_tensor",
        generator_until_tensor,
        [(f(3.0, 2.0),), (f(0.5, 0.2),), (f(30.0, 2.0),)],
        paths=3,
        origin="autograph generator_test",
    ),
]
