"""Strings, f-strings and `isinstance`."""

import torch
from corpuslib import Case, f


def fstring_keys(x):
    d = {}
    for k in range(3):
        d[f"h{k}"] = x * k
    if x.sum() > 0:
        name = "h1"
        y = d[name] + 1
    else:
        y = d["h" + str(2)]
    return y


def _norm_arg(v):
    if isinstance(v, (list, tuple)):
        return torch.stack([_norm_arg(t) for t in v])
    if isinstance(v, torch.Tensor):
        return v
    return torch.tensor(float(v))


def isinstance_dispatch(x):
    a = _norm_arg([x, x * 2])
    c = _norm_arg(3)
    if a.sum() > 0 and isinstance(c, torch.Tensor):
        return a * c
    return a - c


def string_mode_dispatch(x):
    spec = "relu,tanh,sigmoid"
    for op in spec.split(","):
        fn = getattr(torch, op)
        if x.max() > 0.5:
            x = fn(x)
    return x


def string_mode_set_by_tensor(x):
    mode = "plain"
    if x.sum() > 10:
        mode = "scaled"
    elif x.sum() < 0:
        mode = "flipped"
    if mode == "scaled":
        return x / 10
    if mode == "flipped":
        return -x
    return x


CASES = [
    Case("fstring_keys", fstring_keys, [(f(1.0, 2.0),), (f(-1.0, -2.0),)], origin="own"),
    Case(
        "isinstance_dispatch",
        isinstance_dispatch,
        [(f(1.0, 2.0),), (f(-1.0, -2.0),)],
        origin="paddle test_isinstance",
    ),
    Case(
        "string_mode_dispatch",
        string_mode_dispatch,
        [(f(1.0, 2.0),), (f(-1.0, -2.0),), (f(0.6, 0.0),)],
        origin="own",
    ),
    Case(
        "string_mode_set_by_tensor",
        string_mode_set_by_tensor,
        [(f(1.0, 2.0),), (f(-1.0, -2.0),), (f(9.0, 9.0),)],
        paths=3,
        origin="own (non-tensor state set by data)",
    ),
]
