"""Dicts, named tuples, dataclasses and other containers."""

from collections import namedtuple

import torch
from corpuslib import Case, f, i

SUP = dict(paddle_listed="supported")
State = namedtuple("State", ["step", "value"])


def dict_cache_in_loop(x, n):
    cache = {"k": torch.zeros_like(x), "v": torch.ones_like(x)}
    for _ in range(n):
        cache["k"] = cache["k"] * 0.1 + x
        cache["v"] = cache["v"] + cache["k"]
        x = torch.tanh(cache["v"])
    return x, cache["k"]


def dict_write_in_branch(x):
    res = {"a": x, "n": torch.tensor(1)}
    if x.sum() > 0:
        res["a"] = x * 2
    else:
        res["n"] = res["n"] + 5
    return res


def dict_pop_get(x):
    d = {"red": x, "green": x + 1}
    m = d.pop("red")
    n = d.pop("black", 3)
    g = d.get("green")
    if (m + n).sum() > 7:
        d["blue"] = g * 2
    else:
        d["blue"] = g * 3
    return d["blue"] + d["green"]


def namedtuple_state(x, n):
    s = State(step=torch.tensor(0), value=x)
    while s.step < n:
        s = State(s.step + 1, s.value * 1.5)
        if s.value.max() > 10:
            s = s._replace(value=s.value - 10)
    return s.value, s.step


def nested_dict_in_loop(x, n):
    st = {"hist": [x, x], "opt": {"lr": torch.tensor(1.0)}}
    for k in range(n):
        st["opt"]["lr"] = st["opt"]["lr"] * 0.5
        st["hist"][0] = st["hist"][0] + st["opt"]["lr"]
    return st["hist"][0] + st["hist"][1] * st["opt"]["lr"]


def dict_input(d):
    if d["flag"] > 0:
        y = d["x"] * d["w"]
    else:
        y = d["x"] + d["w"]
    return {"y": y, "x": d["x"]}


def star_unpack(x):
    first, *rest = x.unbind(0)
    a, (c, d) = first, (rest[0], rest[-1])
    if a.sum() > c.sum():
        a, c = c, a
    return a * 2 + c - d


NS = [(f(1.0, 2.0), i(3)), (f(1.0, 2.0), i(0)), (f(3.0, 2.0), i(5))]
CASES = [
    Case("dict_cache_in_loop", dict_cache_in_loop, NS, paths=3, origin="paddle test_dict", **SUP),
    Case(
        "dict_write_in_branch",
        dict_write_in_branch,
        [(f(1.0, 2.0),), (f(-1.0, -2.0),)],
        origin="paddle test_write_python_container",
        **SUP,
    ),
    Case(
        "dict_pop_get",
        dict_pop_get,
        [(f(1.0, 2.0),), (f(-1.0, -2.0),)],
        origin="paddle test_dict_pop_2",
        **SUP,
    ),
    Case(
        "namedtuple_state",
        namedtuple_state,
        [(f(1.0, 2.0), i(3)), (f(1.0, 2.0), i(0)), (f(3.0, 9.0), i(5))],
        paths=3,
        origin="autograph call_to_named_tuple",
    ),
    Case(
        "nested_dict_in_loop",
        nested_dict_in_loop,
        NS,
        paths=3,
        origin="paddle func_loop_write_nest_dict_list",
    ),
    Case(
        "dict_input",
        dict_input,
        [
            ({"x": f(1.0, 2.0), "w": f(3.0, 4.0), "flag": i(1)},),
            ({"x": f(1.0, 2.0), "w": f(3.0, 4.0), "flag": i(0)},),
        ],
        origin="torch exportdb dictionary",
        **SUP,
    ),
    Case(
        "star_unpack",
        star_unpack,
        [(f([[1.0, 2.0], [0.0, 0.0], [5.0, 5.0]]),), (f([[1.0, 2.0], [9.0, 9.0], [5.0, 5.0]]),)],
        origin="torch exportdb list_unpack",
    ),
]
