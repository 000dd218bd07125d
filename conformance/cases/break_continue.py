"""`break` and `continue` in loops."""

import torch
from corpuslib import Case, f, i

SUP = dict(paddle_listed="supported")


def break_on_sum(x):
    for k in range(10):
        if x.sum() > 5:
            break
        x = x + k
    return x


def break_and_continue_mixed(x):
    out = torch.zeros(())
    for k in range(8):
        v = x[k]
        if v < 0:
            continue
        if v > 10:
            out = out * 2
            break
        out = out + v
    return out


def for_else_search(x, t):
    at = -1
    for k in range(x.shape[0]):
        if x[k] == t:
            at = k
            break
    else:
        x = x * 0
    return x + at


def continue_in_while(x, n):
    k = torch.zeros((), dtype=torch.int64)
    while k < n:
        k = k + 1
        if k % 3 == 0:
            continue
        x = x + k
    return x


def break_with_append(x):
    kept = []
    for row in x:
        if row.max() > 3:
            break
        kept.append(row * 2)
    kept.append(torch.zeros(x.shape[1]))
    return torch.stack(kept)


def break_on_python_count(x, n):
    done = 0
    while x.sum() < n:
        x = x + 1
        done += 1
        if done == 3:
            break
    return x, done


CASES = [
    Case(
        "break_on_sum",
        break_on_sum,
        [(f(0.0, 0.0),), (f(9.0, 0.0),), (f(-20.0, 0.0),)],
        paths=3,
        origin="paddle test_optim_break_in_for",
        **SUP,
    ),
    Case(
        "break_and_continue_mixed",
        break_and_continue_mixed,
        [
            (f(1.0, -1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0),),
            (f(1.0, -1.0, 20.0, 3.0, 4.0, 5.0, 6.0, 7.0),),
            (f(-1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, 11.0),),
        ],
        paths=3,
        origin="paddle test_break_continue_in_for",
        **SUP,
    ),
    Case(
        "for_else_search",
        for_else_search,
        [(f(1.0, 2.0, 3.0), f(2.0)), (f(1.0, 2.0, 3.0), f(9.0)), (f(1.0, 2.0, 3.0, 4.0), f(4.0))],
        ({0: "N"}, None),
        paths=3,
        origin="autograph loop orelse",
    ),
    Case(
        "continue_in_while",
        continue_in_while,
        [(f(1.0, 2.0), i(4)), (f(1.0, 2.0), i(0)), (f(1.0, 2.0), i(9))],
        paths=3,
        origin="paddle test_continue_in_while",
        **SUP,
    ),
    Case(
        "break_with_append",
        break_with_append,
        [
            (f([[1.0, 2.0], [3.0, 1.0], [4.0, 4.0]]),),
            (f([[9.0, 2.0], [3.0, 1.0]]),),
            (f([[1.0, 2.0], [3.0, 1.0]]),),
        ],
        ({0: "N"},),
        paths=3,
        origin="paddle test_list + break",
        **SUP,
    ),
    Case(
        "break_on_python_count",
        break_on_python_count,
        [(f(0.0, 0.0), f(4.0)), (f(0.0, 0.0), f(40.0)), (f(9.0, 0.0), f(4.0))],
        paths=3,
        origin="paddle while python var",
        **SUP,
    ),
]
