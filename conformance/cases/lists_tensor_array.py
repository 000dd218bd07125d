"""Lists of tensors that grow and change."""

import torch
from corpuslib import Case, f, i

SUP = dict(paddle_listed="supported")


def append_in_while(x, n):
    hist = []
    k = 0
    while k < n:
        x = x * 0.5 + 1
        hist.append(x)
        k += 1
    return torch.stack(hist, dim=1)


def setitem_in_tensor_loop(x, n):
    a = [x * 0, x * 0, x * 0, x * 0]
    for k in range(n):
        a[k] = x + k
    return torch.cat(a)


def slice_after_loop(x, n):
    a = []
    for k in range(n):
        a.append(x + k)
    mid = a[1:3]
    return a[-1] + mid[0] * mid[1]


def queue_with_pop_front(x):
    q = [x]
    total = torch.zeros(())
    while len(q) > 0:
        t = q.pop(0)
        total = total + t.max()
        if t.sum() > 4:
            q.append(t / 2)
            q.append(t / 4)
    return total


def concat_and_repeat(x):
    a = [x] + [x * 2]
    a += [x * 3]
    a.extend([x * 4])
    a = a * 2
    a.reverse()
    return torch.stack(a[::2])


def two_lists_in_loop(x, n):
    states, scores = [], []
    h = x
    for k in range(n):
        h = torch.tanh(h + k)
        states.append(h)
        scores.append(h.sum())
    return torch.stack(states), torch.stack(scores)


def iterate_list_after_build(x, n):
    a = []
    for k in range(n):
        a.append(x * k)
    best = x - 100
    for t in a:
        if t.sum() > best.sum():
            best = t
    return best


NS = [(f(1.0, 2.0), i(3)), (f(1.0, 2.0), i(1)), (f(3.0, 2.0), i(4))]
CASES = [
    Case(
        "append_in_while",
        append_in_while,
        NS,
        paths=3,
        origin="paddle test_list_append_in_while_loop_with_stack",
        **SUP,
    ),
    Case(
        "setitem_in_tensor_loop",
        setitem_in_tensor_loop,
        NS,
        paths=3,
        origin="paddle test_slice_in_for_loop",
        **SUP,
    ),
    Case(
        "slice_after_loop",
        slice_after_loop,
        [(f(1.0, 2.0), i(3)), (f(1.0, 2.0), i(5)), (f(3.0, 2.0), i(4))],
        paths=3,
        origin="paddle test_tensor_array_slice",
    ),
    Case(
        "queue_with_pop_front",
        queue_with_pop_front,
        [(f(2.0, 4.0),), (f(1.0, 1.0),), (f(20.0, 9.0),)],
        paths=3,
        origin="own (work list)",
    ),
    Case(
        "concat_and_repeat",
        concat_and_repeat,
        [(f(1.0, 2.0),), (f(3.0, 4.0),)],
        paths=1,
        origin="autograph basic_list",
    ),
    Case(
        "two_lists_in_loop",
        two_lists_in_loop,
        NS,
        paths=3,
        origin="paddle test_list_pop_in_while_loop",
        **SUP,
    ),
    Case(
        "iterate_list_after_build",
        iterate_list_after_build,
        [(f(1.0, 2.0), i(3)), (f(-1.0, -2.0), i(2)), (f(3.0, 2.0), i(0))],
        paths=3,
        origin="paddle for_iter_var_list",
        **SUP,
    ),
]
