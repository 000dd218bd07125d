"""Identity, equality, order, membership and hashing where one side is captured."""

from __future__ import annotations

import math

import torch

from tests.zoo.programs import f, i, program


@program((f(1.0),), (f(-1.0),))
def flag_is_true(x):
    """`is True` of a bool made by data."""
    flag = bool(x > 0)
    other = False
    if x > 0:
        other = True
    return flag is True, other is False, flag == 1, flag is not None


@program((f(1.0),), (f(-1.0),))
def flag_is_another(x):
    """`is` between two bools made by data: there are two bools only."""
    flag = bool(x > 0)
    other = False
    if x > 0:
        other = True
    return flag is other


@program((f(1.0),), (f(float("nan")),), (f(float("inf")),))
def nan_is_not_itself(x):
    """A float that is nan is not equal to itself; inf minus inf is nan."""
    v = x.item()
    return v == v, v != v, v * 0 == 0, v - v == 0, max(v, 1.0), min(1.0, v), max(1.0, v)


@program(
    (i(2),),
    (i(0),),
    (i(9),),
)
def number_in_a_set_or_dict(n):
    """Hash-based lookups of a number from data."""
    k = int(n)
    table = {0: "zero", 2: "two"}
    return k in {1, 2, 3}, k in table, table.get(k, "other")


@program(
    (i(2),),
    (i(0),),
    (i(9),),
)
def tuples_compared(n):
    """Tuples and lists with captured items, compared by order and by equality."""
    k = int(n)
    return (k, 1) < (2, 3), [k, 1] == [2, 1], (k,) != (0,), max((k, "a"), (1, "b"))


@program(
    (i(2),),
    (i(0),),
    (i(-1),),
    (i(7),),
)
def slices_by_numbers(n):
    """Python sequences and tensors sliced by numbers from data; slices clamp."""
    k = int(n)
    x = torch.arange(5)
    return "abcde"[:k], (1, 2, 3, 4)[k:], [1, 2, 3, 4][-k:], x[:k], x[k:], x[-3:k]


@program(
    (i(2),),
    (i(0),),
    (i(-1),),
    (i(3),),
)
def string_by_number(n):
    """A string indexed and repeated by a number from data."""
    k = int(n)
    return "abcdef"[k], "ab" * k, "x".join(["a", "b"]) + str(k)


@program(
    (i(2),),
    (i(0),),
    (i(7),),
)
def questions_of_a_range(n):
    """`len`, membership, indexing and reversal of a range of unknown length."""
    k = int(n)
    s = range(1, k, 2)
    return len(s), 3 in s, 4 in s, list(reversed(range(k)))[:2] if k > 1 else k


@program((i(2),), (i(0),), (i(-3),))
def truth_of_numbers(n):
    """Numbers as conditions: `if k`, `while k`, `not k`, `k or 5`."""
    k = int(n)
    v = k / 2
    total = 0
    while k > 0 and v:
        k -= 1
        v -= 0.5
        total += 1
    return not k, k or 5, v and "some", 1 if v else 2, total


@program((i(2),), (i(0),), (i(-7),))
def division_signs(n):
    """Floor division and remainder with negative operands, of ints and floats."""
    k = int(n)
    return k // -3, k % -3, divmod(k, -2), math.floor(k / 2), math.ceil(k / 2), -k % 4, k / -4 // 1


@program((f(2.5),), (f(-2.5),), (f(0.0),))
def functions_of_math(x):
    """The `math` module on a float from data."""
    v = float(x)
    return math.sqrt(abs(v)), math.floor(v), math.exp(v), math.isnan(v), math.pi * v


@program((f(1.0),), (f(-1.0),), refused="ST204")
def same_tensor_by_identity(x):
    """`is` between tensors after a branch that may have copied one."""
    y = x
    if x > 0:
        y = x + 0
    return y is x, x is x, y is not None


@program((f(1.0),), (f(-1.0),))
def bools_are_ints(x):
    """Arithmetic with bools from data gives ints."""
    flag = bool(x > 0)
    return (
        flag + 1,
        flag * 2.5,
        -flag,
        flag & True,
        flag | False,
        flag ^ True,
        int(flag),
        sum([flag, True]),
    )


@program((i(30),), (i(0),), (i(2),), (i(31),))
def integers_of_64_bits(n):
    """An int from data up to the largest power of 4 that a program holds."""
    k = 1
    j = 0
    while j < n:
        k = k * 4
        j += 1
    return k, k // 3


@program((i(5),), (i(-5),))
def float_of_large_int(n):
    """An int to float and back; comparison of an int with a float."""
    k = n.item()
    v = float(k) + 0.5
    return v > k, k == 5.0, k < 5.5, int(v * 2), k == v


@program((f(1.0, 2.0),), (f(2.0, 1.0),))
def min_and_max_of_tensors(x):
    """`max` of two 0-d tensors gives the first of equals; with a key too."""
    a, c = x[0], x[1]
    return max(a, c), min([a, c]), max(a, c, key=lambda t: -t), max(a, 1.5)
