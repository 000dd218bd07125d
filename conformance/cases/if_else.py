"""Data-dependent `if`, `elif` and ternaries."""

import torch
from corpuslib import Case, f, r

SUP = dict(paddle_listed="supported")


def if_sign_of_mean(x):
    if x.mean() > 0:
        y = x * 2
    else:
        y = x - 1
    return y + 0.5


def if_nested_three(x, y):
    if x.sum() > 0:
        if y.sum() > 0:
            z = x + y
            if z.max() > 3:
                z = z.clamp(max=3.0)
        else:
            z = x - y
    else:
        if y.max() > x.max():
            z = y.clone()
        else:
            z = x.clone()
        z = z * 0.1
    return z


def if_ternary_expr(x):
    y = torch.relu(x) if x.max() > 1 else torch.tanh(x)
    return y - (y.mean() if y.mean() > 0.2 else 0.0)


def if_python_and_tensor_mixed(x):
    training = False
    heads = 2
    if training:
        x = x + 1000
    elif heads == 2:
        if x.sum() > 0:
            x = x.reshape(-1, heads).sum(1)
        else:
            x = x.reshape(-1, heads).prod(1)
    return x


def if_branches_differ_in_shape(x):
    if x[0, 0] > 0:
        y = torch.cat([x, x * 2], dim=0)
    else:
        y = x[:1]
    return y + 1


def if_python_int_result(x):
    k = 1
    p = 0.5
    if x.sum() > 0:
        k = 3
        p = 2.5
    return x * k + p


def if_none_or_tensor(x):
    bias = None
    if x.min() < 0:
        bias = x.min()
    y = x * 2
    if bias is not None:
        y = y - bias
    return y


def if_swap(a, c):
    if a.sum() > c.sum():
        a, c = c, a
    return a, c - a


POS, NEG = f(1.0, 2.0, 3.0), f(-1.0, -2.0, -3.0)
CASES = [
    Case(
        "if_sign_of_mean",
        if_sign_of_mean,
        [(r(1, 3, 4, shift=1),), (r(2, 5, 4, shift=-1),), (r(3, 1, 4, shift=2),)],
        ({0: "B"},),
        origin="paddle ifelse_simple_func",
        **SUP,
    ),
    Case(
        "if_nested_three",
        if_nested_three,
        [(POS, POS), (POS, NEG), (NEG, POS), (NEG, NEG * 2), (POS * 0.1, POS * 0.1)],
        paths=5,
        origin="paddle nested_if_else",
        **SUP,
    ),
    Case(
        "if_ternary_expr",
        if_ternary_expr,
        [(f(2.0, 3.0),), (f(0.1, 0.2),), (f(0.8, 0.9),), (f(1.05, -9.0, -9.0, -9.0, -9.0, -9.0),)],
        ({0: "N"},),
        paths=4,
        origin="autograph basic_ifexp",
        **SUP,
    ),
    Case(
        "if_python_and_tensor_mixed",
        if_python_and_tensor_mixed,
        [(f(1.0, 2.0, 3.0, 4.0),), (f(-1.0, -2.0, 3.0, -4.0),)],
        origin="paddle dyfunc_with_if_else_plain",
        **SUP,
    ),
    Case(
        "if_branches_differ_in_shape",
        if_branches_differ_in_shape,
        [
            (f([[1.0, 2.0], [3.0, 4.0]]),),
            (f([[-1.0, 2.0], [3.0, 4.0]]),),
            (f([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),),
        ],
        ({0: "B"},),
        origin="autograph control_flow shape change",
    ),
    Case(
        "if_python_int_result",
        if_python_int_result,
        [(POS,), (NEG,)],
        origin="paddle dyfunc_with_if_else2 TODO (non-tensor result)",
        **SUP,
    ),
    Case(
        "if_none_or_tensor",
        if_none_or_tensor,
        [(POS,), (NEG,)],
        origin="paddle dyfunc_with_none / autograph undefined",
    ),
    Case("if_swap", if_swap, [(NEG, POS), (POS, NEG)], origin="own", **SUP),
]
