"""numpy inside a function."""

import numpy as np
import torch
from corpuslib import Case, f, i

UNS = dict(
    paddle_listed="unsupported"
)  # the list says "partial: use the framework's own API instead"


def np_constant_table(x):
    table = np.linspace(0.0, 1.0, 4).astype("float32")
    w = torch.from_numpy(table)
    if x.sum() > 0:
        x = x * w
    return x + float(np.pi)


def np_condition(x):
    if np.mean(x.numpy()) > 0:
        return x * 2
    return x - 2


def np_argsort_gather(x):
    order = np.argsort(x.detach().numpy())
    return x[torch.from_numpy(order)]


def np_build_mask(x, n):
    m = np.zeros(6, dtype="float32")
    for k in range(int(n)):
        m[k] = 1.0
    return x * torch.from_numpy(m)


CASES = [
    Case(
        "np_constant_table",
        np_constant_table,
        [(f(1.0, 2.0, 3.0, 4.0),), (f(-1.0, -2.0, -3.0, -4.0),)],
        origin="paddle grammar list: numpy",
        paddle_listed="supported",
    ),
    Case(
        "np_condition",
        np_condition,
        [(f(1.0, 4.0),), (f(-9.0, 1.0),)],
        origin="paddle mean(x).numpy() > 5",
        **UNS,
    ),
    Case(
        "np_argsort_gather",
        np_argsort_gather,
        [(f(1.0, 4.0, 2.0),), (f(9.0, -1.0, 3.0),)],
        paths=1,
        origin="autograph call_to_numpy",
        **UNS,
    ),
    Case(
        "np_build_mask",
        np_build_mask,
        [
            (f(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), i(2)),
            (f(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), i(0)),
            (f(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), i(5)),
        ],
        paths=3,
        origin="own",
        **UNS,
    ),
]
