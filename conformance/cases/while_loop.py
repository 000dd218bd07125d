"""Data-dependent `while` loops."""

import torch
from corpuslib import Case, f, i

SUP = dict(paddle_listed="supported")


def while_python_counter_tensor_limit(x, n):
    k = 0
    while k < n:
        x = x * 0.9 + k
        k += 1
    return x


def while_collatz(n):
    steps = torch.zeros((), dtype=torch.int64)
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps = steps + 1
    return steps


def while_zero_trip(x):
    last = torch.zeros_like(x)
    while x.sum() > 5:
        last = x
        x = x / 2
    return x + last


def while_temp_and_lambda(x):
    total = x.clone()
    while x.max() < 10:
        add = lambda x, y: x + y
        tmp = add(total, x)
        total = tmp
        x = x + 3
    return total


def while_gcd(a, c):
    while c != 0:
        a, c = c, a % c
    return a


def while_else_clause(x):
    while x.sum() > 1:
        x = x / 3
        if x.min() < 0.01:
            break
    else:
        x = x + 100
    return x


def while_python_zero_becomes_tensor(x):
    total = 0
    while x.sum() < 20:
        total = total + x.mean()
        x = x * 3
    return total + x


CASES = [
    Case(
        "while_python_counter_tensor_limit",
        while_python_counter_tensor_limit,
        [(f(1.0, 2.0), i(3)), (f(1.0, 2.0), i(0)), (f(0.0, 2.0), i(6))],
        paths=3,
        origin="paddle test_list while i < iter_num",
        **SUP,
    ),
    Case(
        "while_collatz",
        while_collatz,
        [(i(6),), (i(1),), (i(27),)],
        paths=3,
        origin="autograph while + if",
        **SUP,
    ),
    Case(
        "while_zero_trip",
        while_zero_trip,
        [(f(9.0, 9.0),), (f(1.0, 1.0),)],
        origin="autograph loop_created_variables",
        **SUP,
    ),
    Case(
        "while_temp_and_lambda",
        while_temp_and_lambda,
        [(f(1.0, 2.0),), (f(11.0, 2.0),), (f(8.0, 1.0),)],
        paths=3,
        origin="paddle while_loop_dyfun_with_conflict_var",
        **SUP,
    ),
    Case(
        "while_gcd",
        while_gcd,
        [(i(12), i(18)), (i(7), i(0)), (i(1071), i(463))],
        paths=3,
        origin="own",
        **SUP,
    ),
    Case(
        "while_else_clause",
        while_else_clause,
        [(f(9.0, 9.0),), (f(9.0, 0.05),), (f(0.1, 0.1),)],
        paths=3,
        origin="autograph loop_control_flow (orelse)",
    ),
    Case(
        "while_python_zero_becomes_tensor",
        while_python_zero_becomes_tensor,
        [(f(1.0, 2.0),), (f(30.0, 2.0),), (f(5.0, 2.0),)],
        paths=3,
        origin="autograph loop_with_variable_type",
        **SUP,
    ),
]
