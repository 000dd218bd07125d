"""`and`, `or`, `not` and chained comparisons."""

from corpuslib import Case, f

SUP = dict(paddle_listed="supported")


def or_not_mix(x, y):
    a = 1
    if x.sum() < 10 and (a < 4 or a > 9) or not y.sum() > -1:
        z = x - y
    else:
        z = x + y
    return z


def chained_comparison(x):
    if 0 < x.sum() < 10:
        y = x * 2
    else:
        y = x * 3
    return y


def and_or_value(x, y):
    pick = (x.sum() > 0) and y.max()
    other = (x.sum() > 0) or y.min()
    if x.sum() > 0:
        return pick * 2
    return other * 3


def builtin_any_all(x):
    if any(v > 3 for v in x):
        x = x - 3
    if all([v >= 0 for v in x]):
        x = x * 10
    return x


def while_bool_ops(x):
    a = 1
    while x.sum() < 10 and (a < 4 or a > 100) or x.sum() < -5:
        x = x + 1
        a = a + 1
    return x


def contains_value(x, t):
    if 3 in x:
        x = x + 10
    if t not in x:
        x = x - 1
    return x


CASES = [
    Case(
        "or_not_mix",
        or_not_mix,
        [(f(1.0, 2.0), f(1.0, 1.0)), (f(10.0, 20.0), f(1.0, 1.0)), (f(10.0, 20.0), f(-1.0, -1.0))],
        paths=3,
        origin="paddle test_logical_not_and_or",
        **SUP,
    ),
    Case(
        "chained_comparison",
        chained_comparison,
        [(f(1.0, 1.0),), (f(30.0, 3.0),), (f(-1.0, -1.0),)],
        paths=3,
        origin="paddle cmpop / autograph",
        **SUP,
    ),
    Case(
        "and_or_value",
        and_or_value,
        [(f(1.0, 1.0), f(1.0, 5.0)), (f(-1.0, -1.0), f(1.0, 5.0))],
        origin="paddle and/or value example",
        **SUP,
    ),
    Case(
        "builtin_any_all",
        builtin_any_all,
        [(f(1.0, 2.0),), (f(5.0, 2.0),), (f(-1.0, 2.0, 1.0),)],
        ({0: "N"},),
        paths=3,
        origin="autograph py_builtins any/all",
    ),
    Case(
        "while_bool_ops",
        while_bool_ops,
        [(f(1.0, 1.0),), (f(9.0, 9.0),), (f(-9.0, -9.0),)],
        paths=3,
        origin="paddle while_loop_bool_op2",
        **SUP,
    ),
    Case(
        "contains_value",
        contains_value,
        [(f(1.0, 2.0), f(1.0)), (f(3.0, 2.0), f(7.0)), (f(1.0, 3.0), f(11.0))],
        paths=3,
        origin="torch exportdb list_contains",
    ),
]
