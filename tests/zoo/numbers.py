"""Python numbers that a branch or a loop makes symbolic, and the builtins on them."""

from __future__ import annotations

import math

import torch

from tests.zoo.programs import f, i, program


@program((f(1.0),), (f(-1.0),))
def int_or_float(x):
    """An int on one path, a float on the other: the type is part of the answer."""
    k = 2
    if x > 0:
        k = 2.5
    return k, x * k


@program((f(1.0),), (f(-1.0),))
def int_or_bool(x):
    """A bool on one path, an int on the other."""
    k = True
    if x > 0:
        k = 3
    return k, x + k


@program((i(1, 2, 3),), (i(-1, -2),), (i([]),), dynamic=({0},))
def int_scale_keeps_the_dtype(x):
    """A symbolic int times an int tensor stays int64; a float promotes."""
    k = 1
    if x.sum() > 0:
        k = 3
    return x * k, x * float(k), k * 2**2


@program((f(5.0),), (f(-7.0),), (f(0.0),))
def divmod_and_friends(x):
    """`divmod`, `//`, `%`, `round`, `abs`, `pow` of an int taken from data, negative too."""
    n = int(x)
    q, m = divmod(n, 3)
    return q, m, n // 2, n % 4, abs(n), pow(n, 2), round(n / 4, 1), -n // 2


@program((f(2.5),), (f(-2.5),), (f(3.5),), (f(0.5),))
def rounding(x):
    """`round` to even, `int` towards zero, floor division of floats."""
    v = float(x)
    return round(v), int(v), v // 1, v % 1.5


@program((f(3.0, 1.0),), (f(-1.0, 2.0, 5.0),), (f([4.0]),), dynamic=({0},))
def min_max_of_numbers(x):
    """`min` and `max` of symbolic numbers and constants keep the type of the winner."""
    n = int(x[0])
    return max(n, 1), min(n, 2.5), max([n, x.shape[0]]), min(n, 0, key=abs)


@program((f(1.0, 2.0, 3.0),), (f([]),), dynamic=({0},), may_raise=True)
def sum_over_a_tensor(x):
    """`sum`, `any`, `all`, `max` over a tensor's elements."""
    return sum(x), any(x > 2), all(x > 0)


@program((f(4.0),), (f(-4.0),), (f(0.0),))
def int_division_by_data(x):
    """ZeroDivisionError comes from Python's numbers, not from a tensor."""
    n = int(x)
    if n == 0:
        return 0
    return 12 // n


@program((f(0.0),), (f(2.0),), may_raise=True)
def zero_division(x):
    """A symbolic divisor that is 0 raises as Python does."""
    return 10 // int(x)


@program((f(1.0, 2.0),), (f([0.0]),), (f(2.0, 2.0, 2.0),), dynamic=({0},))
def counter_of_trips(x):
    """A Python int that counts in a recorded loop, and a float that accumulates."""
    n, total = 0, 0.0
    while x.sum() < 50:
        x = x * 2 + 1
        n += 1
        total += float(x[0])
    return n, total, x


@program((f(1.0),), (f(-1.0),))
def bool_becomes_symbolic(x):
    """A flag set in a branch, read by `not`, `and`, and returned."""
    flag = False
    if x > 0:
        flag = True
    other = not flag
    return flag, other, flag and 3, flag or "no"


@program((f(1.5),), (f(2.0),), (f(-1.0),))
def number_as_a_dict_key_or_index(x):
    """A tuple and a dict indexed by an int from data."""
    k = int(x)
    table = (10, 20, 30)
    return table[k], x * table[k]


@program((i(2),), (i(0),), (i(5),))
def big_integers(n):
    """Python ints do not overflow at 2**31."""
    k = n.item()
    return k * 3_000_000_000 + 1, (k + 1) * 2**40


@program((f(0.1),), (f(1e30),), (f(-0.0),))
def float_arithmetic_is_double(x):
    """A Python float is a double: no float32 rounding between two operations."""
    v = x.item()
    return v * 3 + 0.1, x * v, -v


@program((i(6),), (i(-6),), (i(1),))
def bit_operations(n):
    """`&`, `|`, `^`, `<<`, `>>`, `~` of an int from data."""
    k = int(n)
    return k & 3, k | 8, k ^ 5, k << 2, k >> 1, ~k


@program((f(1.0),), (f(-1.0),))
def number_or_none(x):
    """A float on one path, None on the other, tested with `is None`."""
    limit = None
    if x > 0:
        limit = 0.5
    if limit is None:
        return x
    return x.clamp(max=limit)


@program((f(3.0),), (f(-3.0),))
def int_true_division(x):
    """`/` of two ints is a float, also where both are symbolic."""
    n = int(x)
    m = 2 if x > 0 else 4
    return n / m, n // m, type(n / m) is float


@program((f(2.0),), (f(3.0),), (f(0.0),))
def power_of_a_symbolic_int(x):
    """`**` with a symbolic exponent stays an int."""
    n = int(x)
    return 2**n, n**2, torch.ones(()) * 2**n


def _error_of(function, *args):
    try:
        return function(*args)
    except (TypeError, ValueError) as error:
        return type(error).__name__, str(error)


@program((f(2.0),), (f(0.5),))
def floats_where_python_wants_integers(x):
    """A float from data is no index, no count and no bound."""
    v, items = float(x), [1, 2, 3]
    return (
        _error_of(lambda: list(range(v))), _error_of(lambda: list(range(0, 2, v))),
        _error_of(math.factorial, v), _error_of(math.gcd, v, 2), _error_of(math.comb, 3, v),
        _error_of(lambda: items[v]), _error_of(lambda: items[:v]), _error_of(lambda: items * v),
        _error_of(lambda: "ab" * v), _error_of(lambda: list(enumerate(items, v))),
        _error_of(lambda: "abc"[v]), _error_of(lambda: (1, 2)[v]),
        _error_of(lambda: items.insert(v, 1)), _error_of(lambda: x.expand(2)[:v]),
    )  # fmt: skip


@program((i(2),), (i(0),))
def known_floats_beside_an_int_from_data(n):
    """A float that Python knows beside an int that only a run knows."""
    k = int(n)
    return (
        _error_of(lambda: list(range(k, 3.0))), _error_of(math.gcd, k, 2.0),
        _error_of(math.comb, 3.0, k),
    )  # fmt: skip


@program((i(2), f(0.5)), (i(0), f(-0.5)), (i(1), f(1.0)))
def bools_among_numbers_from_data(n, x):
    """`True` and `False` are compared as the numbers 1 and 0."""
    k, v = int(n), float(x)
    return max(k, v, True), min(False, v), k < True, True >= v, k == True, sorted([v, True, k])  # noqa: E712


@program((i(2),), (i(0),))
def text_of_containers_with_captured_values(n):
    """`repr`, `str` and `format` of containers give what Python gives."""
    k = int(n)
    items, table = [k, "a", (k,)], {"k": [k], 1: None}
    return (
        repr(items), str(items), f"{items!r:>20}", f"{table}", repr(table), "%r" % [k],  # noqa: UP031
        "{!s} {!r}".format(table, (k, k)), _error_of(lambda: f"{items:>20}"),  # noqa: UP032
    )  # fmt: skip
