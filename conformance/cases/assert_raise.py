"""`assert` and `raise` that depend on data."""

import torch
from corpuslib import Case, f, i

SUP = dict(paddle_listed="supported")


def assert_positive(x):
    assert x.min() > 0, "must be positive"
    return x.log()


def assert_in_loop(x):
    acc = torch.ones(())
    for v in x:
        assert v != 0, "zero element"
        acc = acc / v
    return acc


def raise_or_return(x, k):
    if k == 0:
        return x
    elif k == 1:
        return x * 2
    else:
        raise NotImplementedError(f"mode {k}")


CASES = [
    Case(
        "assert_positive",
        assert_positive,
        [(f(1.0, 2.0),), (f(3.0, 4.0),), (f(-1.0, 4.0),)],
        may_raise=True,
        origin="paddle test_assert",
        **SUP,
    ),
    Case(
        "assert_in_loop",
        assert_in_loop,
        [(f(1.0, 2.0, 4.0),), (f(1.0, 0.0, 4.0),), (f(1.0, 5.0),)],
        ({0: "N"},),
        may_raise=True,
        paths=3,
        origin="paddle test_assert + loop",
        **SUP,
    ),
    Case(
        "raise_or_return",
        raise_or_return,
        [(f(1.0, 2.0), i(0)), (f(1.0, 2.0), i(1)), (f(1.0, 2.0), i(5))],
        may_raise=True,
        paths=3,
        origin="autograph exceptions",
    ),
]
