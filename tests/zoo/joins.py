"""Names that hold another kind of value on each path, and what may be asked of them."""

from __future__ import annotations

import functools
import itertools

import torch

from tests.zoo.programs import f, i, program


@program((f(1.0, 2.0, 3.0),), (f(-1.0, -2.0, -3.0),))
def if_dtype_differs(x):
    """Another dtype on each path, returned."""
    if x.sum() > 0:
        y = x.to(torch.int64)
    else:
        y = x.to(torch.float64)
    return y


@program((f(1.0, 2.0, 3.0),), (f(-1.0, -2.0, -3.0),))
def if_none_both_ways(x):
    """Two names, each None on one path."""
    a = None
    c = x
    if x.sum() > 0:
        a = x * 2
        c = None
    if a is None:
        return c - 1
    if c is None:
        return a + 1
    return x


@program((f(1.0, 2.0, 3.0),), (f(-1.0, -2.0, -3.0),), (f(1.0, 2.0, 3.0) * 0,))
def if_python_str_result(x):
    """A string chosen by data looks up a dict."""
    tag = "none"
    if x.sum() > 0:
        tag = "pos"
    elif x.sum() < 0:
        tag = "neg"
    table = {"pos": 1.0, "neg": -1.0, "none": 0.0}
    return x * table[tag]


@program((f(1.0, 5.0, 2.0),), (f(1.0, 1.0),), (f(3.0, 4.0, 5.0, 6.0),), dynamic=({0},))
def while_none_until_found(x):
    """None until a loop finds something."""
    found = None
    k = 0
    while k < x.shape[0]:
        if found is None and x[k] > 2:
            found = x[k]
        k += 1
    if found is None:
        return x.sum()
    return found * 100


@program((f(1.0, 2.0), i(2)), (f(-1.0, -2.0), i(0)), (f(1.0, 1.0), i(1)))
def none_then_tensor_then_number(x, n):
    """None, then a tensor, in a loop; a number when it never ran."""
    v = None
    for k in range(n):
        if v is None:
            v = x.sum()
        else:
            v = v * 2
    return -1.0 if v is None else v


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def int_or_float_tensor(x):
    """An int or a float by path: the dtype of its tensor follows."""
    k = 1 if x.sum() > 0 else 2.5
    return (torch.tensor(k), x * k)


@program((i(1, 2),), (i(-1, -2),))
def int_or_float_times_int_tensor(x):
    """An int tensor times an int or a float by path."""
    k = 3
    if x.sum() > 0:
        k = 0.5
    return x * k


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def none_number_string_joined(x):
    """Questions of None-or-number and None-or-string."""
    v = None if x.sum() > 0 else 3
    w = "a" if x.sum() > 0 else None
    return (
        v or 7,
        v is None,
        w is None,
        v == 3,
        (w or "q") == "a",
        v in (3, None),
        isinstance(v, int),
        type(w) is str,
    )


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def tuples_joined_lengths(x):
    """Tuples of different lengths by path."""
    t = (1, 2) if x.sum() > 0 else (3, 4, 5)
    return (t[0], sum(t), len(t), t == (1, 2))


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def range_joined(x):
    """A range chosen by data is walked and asked."""
    rg = range(3) if x.sum() > 0 else range(1, 9, 2)
    t = 0
    for k in rg:
        t += k
    return (t, len(rg), list(rg)[-1])


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def functions_joined(x):
    """Functions and partials chosen by data."""
    g = torch.relu if x.sum() > 0 else torch.abs
    h = (
        functools.partial(torch.clamp, min=0)
        if x.sum() > 0
        else functools.partial(torch.clamp, max=0)
    )
    return (g(x), h(x), g is torch.relu)


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def classes_joined(x):
    """A class chosen by data is made and asked."""

    class A:
        def go(self, t):
            return t + 1

    class B:
        def go(self, t):
            return t - 1

    cls = A if x.sum() > 0 else B
    o = cls()
    return (o.go(x), isinstance(o, A), type(o) is A, cls is A)


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def dtype_joined(x):
    """A dtype chosen by data."""
    d = torch.float64 if x.sum() > 0 else torch.int32
    return (x.to(d), torch.zeros(2, dtype=d), d == torch.float64)


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def slice_joined(x):
    """A slice chosen by data cuts a tensor and a list."""
    s = slice(0, 1) if x.sum() > 0 else slice(1, None)
    return (x[s], [1, 2, 3][s])


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def dict_joined(x):
    """Dicts with the same keys by path."""
    d = {"a": x, "k": 1} if x.sum() > 0 else {"a": x * 2, "k": 2.5}
    return (d["a"] * d["k"], len(d), "a" in d, sorted(d))


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def dict_joined_keys(x):
    """Dicts with different keys by path."""
    d = {"a": x} if x.sum() > 0 else {"b": x * 2}
    return (d.get("a", x * 5), "b" in d, len(d), list(d)[0] == "a")


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def string_methods_joined(x):
    """Methods and comparisons of a string chosen by data."""
    s = "abc" if x.sum() > 0 else "zz,y"
    return (
        x * len(s.split(",")),
        s.startswith("a"),
        s + "!" == "abc!",
        s[0] == "a",
        s < "b",
        s in ("abc",),
        "b" in s,
        s.replace("a", "q") == "qbc",
        s * 2 == "abcabc",
        f"{s}-1" == "abc-1",
        sorted(s)[0] == "a",
    )


@program(
    (f(1.0, 2.0), i(2)),
    (f(-1.0, -2.0), i(0)),
    (f(3.0, 2.0), i(5)),
)
def tuple_list_compare(x, n):
    """Tuples and lists with captured numbers compare item by item."""
    k = int(n)
    return (
        (k, 3) > (2, 9),
        [k] < [3],
        max((k, 1), (2, 2)),
        sorted([(k, 1), (1, 5)])[0],
        min([k, 0], [1, 9]),
    )


@program(
    (f(1.0, 2.0), i(2)),
    (f(-1.0, -2.0), i(0)),
    (f(3.0, 2.0), i(5)),
)
def dict_equality(x, n):
    """Dicts, tuples and lists with captured numbers are equal or not."""
    d = {"a": int(n), "b": 1}
    e = {"a": 2, "b": 1}
    return (
        d == e,
        d != e,
        d == {"a": 2},
        list(d) == ["a", "b"],
        (int(n), 1) == (2, 1),
        [int(n)] == [2],
        (int(n), 1) < (2, 1),
        [int(n), 5] in [[2, 5]],
    )


def _mask_unless_full(x):
    if (x > 0).all():
        return None
    return x > 0


@program((f(1.0, 2.0),), (f(-1.0, 2.0, -3.0),), (f([]),), dynamic=({0},))
def maybe_none_given_to_torch(x):
    """None or a tensor, asked for in each place where it is used, as an argument of torch too."""
    mask = _mask_unless_full(x)
    if mask is not None:
        mask = torch.where(mask, torch.zeros((), device=mask.device), -1.0)
    scale = x.sum() if mask is None else torch.add(mask, 1).sum()
    if mask is None:
        mask = torch.zeros_like(x)
    return torch.mul(mask, scale)


@program((f(1.0, 2.0),), (f(-1.0, 2.0),), (f(-1.0, -2.0),))
def one_of_three_narrowed(x):
    """A union of three, of which a test leaves two, and another one."""
    y = None
    if x[0] > 0:
        y = x * 2
    elif x[1] > 0:
        y = x.to(torch.int64)
    if y is None:
        return x - 1
    if isinstance(y, torch.Tensor) and y.dtype == torch.int64:
        return torch.mul(y, 3)
    return torch.add(y, 1)


@program((f(1.0, 2.0),), (f(-1.0, 2.0),), may_raise=True)
def none_refused_by_a_raise(x):
    """After a branch that raises for None, the rest of the block has the tensor."""
    y = x * 2 if x[0] > 0 else None
    if y is None:
        raise ValueError("no y")
    return torch.where(y > 1, y, 0.0), torch.add(y, 1)


@program((f(1.0, 2.0),), (f(-3.0, -1.0),), trains=True)
def list_or_tensor_that_the_same_test_tells_apart(x):
    """Empty lists stay where nothing was found; the attributes of a tensor are read only of one."""
    found, rest = [], []
    positive = x > 0
    if positive.any():
        found, rest = x[positive], x[~positive]
    if positive.any():
        return (found.to(found.dtype).sum() + rest.sum()).unsqueeze(0)
    return x * 0


@program((f(3.0, 4.0), f(0.5, 0.5)), (f(0.1, 0.2), f(-0.5, 0.1)), trains=True)
def items_of_a_list_or_a_tuple_beside_others(x, y):
    """`zip`, `map` and `chain` take the items of clipped gradients (a list) or others (a tuple)."""
    grads = torch.stack([x, y]).unbind()
    if x.norm() > 1:
        grads = [g / 2 for g in grads]
    some = (x,) if y.sum() > 0 else (x, y)
    rows = list(zip(some, [1, 2, 3], strict=False))
    out = [p - g for p, g in zip([x, y], grads, strict=True)]
    out += [u * v for u, v in zip(some, grads, strict=False)]
    out += [u + v for u, v in map(lambda u, v: (u, v), grads, (x, y))]
    out += itertools.chain(some, grads)
    return out, len(rows), rows[-1][1]


@program((f(3.0, 4.0),), (f(0.1, 0.2),))
def list_or_other_list_changed_while_zipped(x):
    """An item is read when it is taken."""
    first, second = [1, 2, 3], [4, 5, 6]
    chosen = first if x.sum() > 1 else second
    seen = []
    for k, one in zip(range(3), chosen, strict=True):
        seen.append(one)
        if k == 0:
            chosen[1] = 10
            second[2] = 20
    return seen, first, second
