"""`try`, `with` and `finally`."""

import contextlib

import torch
from corpuslib import Case, f


def try_python_error(x):
    try:
        k = int("not a number")
    except ValueError:
        k = 2
    if x.sum() > 0:
        x = x * k
    return x


def with_no_grad_branch(x):
    with torch.no_grad():
        if x.sum() > 0:
            s = x.sum()
        else:
            s = torch.ones(())
    return x * s


@contextlib.contextmanager
def scaled(state, s):
    old = state["s"]
    state["s"] = s
    try:
        yield state
    finally:
        state["s"] = old


def custom_context_manager(x):
    st = {"s": 1.0}
    with scaled(st, 3.0) as inner:
        if x.sum() > 0:
            y = x * inner["s"]
        else:
            y = x + inner["s"]
    return y + st["s"]


CASES = [
    Case("try_python_error", try_python_error, [(f(1.0, 2.0),), (f(-1.0, -2.0),)], origin="own"),
    Case(
        "with_no_grad_branch",
        with_no_grad_branch,
        [(f(1.0, 2.0),), (f(-1.0, -2.0),)],
        origin="paddle no_grad guard",
    ),
    Case(
        "custom_context_manager",
        custom_context_manager,
        [(f(1.0, 2.0),), (f(-1.0, -2.0),)],
        origin="torch exportdb null_context_manager",
    ),
]
