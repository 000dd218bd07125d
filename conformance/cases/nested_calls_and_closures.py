"""Calls of functions, and closures."""

import functools

import torch
from corpuslib import Case, f

SUP = dict(paddle_listed="supported")


def _step_up(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


def call_helper_with_if(x):
    x = _step_up(x)
    x = _step_up(x * -1)
    return x


def closure_nonlocal(x):
    total = torch.zeros(())

    def add(v):
        nonlocal total
        if v > 0:
            total = total + v

    for v in x:
        add(v)
    return total


def closure_appends(x):
    seen = []

    def visit(t):
        if t.sum() > 0:
            t = t * 2
        seen.append(t)

    visit(x)
    visit(-x)
    return torch.stack(seen)


def _log_calls(fn):
    @functools.wraps(fn)
    def inner(x, *a, **k):
        y = fn(x, *a, **k)
        return y if y.sum() > 0 else y * -1

    return inner


@_log_calls
def _shrink(x):
    while x.abs().max() > 1:
        x = x / 2
    return x


def decorated_helper(x):
    return _shrink(x) + 1


def _twice(fn, x):
    return fn(fn(x))


def higher_order(x):
    def bump(t):
        if t.max() < 4:
            return t * 3
        return t - 1

    return _twice(bump, x)


def _make_scaler(k):
    def scaler(t):
        return t * k if t.sum() > k else t + k

    return scaler


def factory_closures(x):
    fns = [_make_scaler(k) for k in (1, 2, 3)]
    for fn in fns:
        x = fn(x)
    return x


CASES = [
    Case(
        "call_helper_with_if",
        call_helper_with_if,
        [(f(1.0, 2.0),), (f(-5.0, 2.0),)],
        origin="paddle test_convert_call",
        **SUP,
    ),
    Case(
        "closure_nonlocal",
        closure_nonlocal,
        [(f(1.0, 2.0),), (f(-5.0, 2.0, 3.0),), (f(-1.0, -1.0),)],
        ({0: "N"},),
        paths=3,
        origin="paddle test_closure_analysis nonlocal",
    ),
    Case(
        "closure_appends",
        closure_appends,
        [(f(1.0, 2.0),), (f(-5.0, 2.0),)],
        origin="paddle test_push_pop",
    ),
    Case(
        "decorated_helper",
        decorated_helper,
        [(f(1.0, 0.2),), (f(-5.0, 2.0),), (f(9.0, 9.0),)],
        paths=3,
        origin="paddle test_decorator_transform",
        **SUP,
    ),
    Case(
        "higher_order",
        higher_order,
        [(f(1.0, 1.0),), (f(5.0, 2.0),), (f(2.0, 1.0),)],
        paths=3,
        origin="autograph call_trees",
        **SUP,
    ),
    Case(
        "factory_closures",
        factory_closures,
        [(f(1.0, 2.0),), (f(-5.0, 2.0),), (f(0.1, 0.2),)],
        paths=2,
        origin="torch exportdb nested_function",
        **SUP,
    ),
]
