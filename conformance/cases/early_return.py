"""`return` from branches and loops."""

import torch
from corpuslib import Case, f, i

SUP = dict(paddle_listed="supported")


def return_each_elif(x):
    m = x.mean()
    if m > 10:
        return x / 10
    elif m > 1:
        return x.sqrt()
    elif m > 0:
        return x
    return x.exp()


def return_first_row_above(x, t):
    for row in x:
        if row.max() > t:
            return row * 2
    return torch.zeros(x.shape[1]) - 1


def return_inside_nested_while(x, n):
    a = torch.zeros((), dtype=torch.int64)
    while a < n:
        c = torch.zeros((), dtype=torch.int64)
        while c < n:
            if x[a] + x[c] > 10:
                return x[a] * x[c]
            c = c + 1
        a = a + 1
    return x.sum()


def _clip_or_pass(x, hi):
    if x.max() > hi:
        return x.clamp(max=1.0) * hi
    if x.min() < -hi:
        return x * 0.1
    return x


def return_from_helper(x):
    y = _clip_or_pass(x, 2.0)
    z = _clip_or_pass(y * 2, 5.0)
    return y + z


def return_with_dead_code(x):
    if x.sum() > 0:
        return x + 1
        x = x * 1000
    else:
        return x - 1
        x = x / 0
    return x * 7


def return_guard_clauses(x, y):
    if x.shape[0] == 0:
        return y
    if (x != x).any():
        return torch.zeros_like(y)
    if y.sum() == 0:
        return y + x.mean()
    return y / y.sum() * x.mean()


CASES = [
    Case(
        "return_each_elif",
        return_each_elif,
        [(f(2.0, 3.0),), (f(20.0, 30.0),), (f(0.2, 0.3),), (f(-2.0, -3.0),)],
        paths=4,
        origin="paddle early_return2",
        **SUP,
    ),
    Case(
        "return_first_row_above",
        return_first_row_above,
        [
            (f([[1.0, 2.0], [3.0, 1.0], [5.0, 5.0]]), f(2.5)),
            (f([[1.0, 2.0], [3.0, 1.0]]), f(9.0)),
            (f([[1.0, 2.0], [3.0, 1.0]]), f(0.0)),
        ],
        ({0: "N"}, None),
        paths=3,
        origin="paddle test_return_in_for",
        **SUP,
    ),
    Case(
        "return_inside_nested_while",
        return_inside_nested_while,
        [
            (f(1.0, 4.0, 7.0), i(3)),
            (f(1.0, 2.0, 3.0), i(3)),
            (f(9.0, 2.0, 3.0), i(1)),
            (f(9.0, 2.0, 3.0), i(0)),
        ],
        paths=4,
        origin="paddle test_return_in_while",
        **SUP,
    ),
    Case(
        "return_from_helper",
        return_from_helper,
        [(f(1.0, 2.0),), (f(-9.0, 1.0),), (f(9.0, 1.0),)],
        paths=3,
        origin="paddle test_recursive_return",
        **SUP,
    ),
    Case(
        "return_with_dead_code",
        return_with_dead_code,
        [(f(1.0, 2.0),), (f(-1.0, -2.0),)],
        origin="paddle test_return_if_else",
        **SUP,
    ),
    Case(
        "return_guard_clauses",
        return_guard_clauses,
        [
            (f(1.0, 2.0), f(1.0, 3.0)),
            (f(1.0, float("nan")), f(1.0, 3.0)),
            (f(1.0, 2.0), f(1.0, -1.0)),
            (f([]), f(1.0, 3.0)),
        ],
        ({0: "N"}, None),
        paths=4,
        origin="own",
        **SUP,
    ),
]
