"""Builtins written out in Python: converted like user code where their operands are captured."""

from __future__ import annotations

import math
from typing import Any

_NO_DEFAULT = object()


def sum_of(items: Any, start: Any = 0) -> Any:
    """`sum(items, start)`."""
    for item in items:
        start = start + item
    return start


def any_of(items: Any) -> Any:
    """`any(items)`."""
    for item in items:
        if item:
            return True
    return False


def all_of(items: Any) -> Any:
    """`all(items)`."""
    for item in items:
        if not item:
            return False
    return True


def max_of(items: Any, key: Any = None, default: Any = _NO_DEFAULT) -> Any:
    """`max(items, key=key, default=default)`."""
    found = False
    best = best_key = None
    for item in items:
        item_key = item if key is None else key(item)
        if not found or item_key > best_key:
            best, best_key = item, item_key
            found = True
    if not found:
        if default is _NO_DEFAULT:
            raise ValueError("max() iterable argument is empty")
        best = default
    return best


def min_of(items: Any, key: Any = None, default: Any = _NO_DEFAULT) -> Any:
    """`min(items, key=key, default=default)`."""
    found = False
    best = best_key = None
    for item in items:
        item_key = item if key is None else key(item)
        if not found or item_key < best_key:
            best, best_key = item, item_key
            found = True
    if not found:
        if default is _NO_DEFAULT:
            raise ValueError("min() iterable argument is empty")
        best = default
    return best


def list_of(items: Any) -> Any:
    """`list(items)`."""
    result = []
    for item in items:
        result.append(item)
    return result


def filtered(function: Any, items: Any) -> Any:
    """`filter(function, items)`, as a list."""
    result = []
    for item in items:
        if item if function is None else function(item):
            result.append(item)
    return result


def reduced(function: Any, items: Any, initial: Any = _NO_DEFAULT) -> Any:
    """`functools.reduce(function, items, initial)`."""
    found = initial is not _NO_DEFAULT
    result = initial if found else None
    for item in items:
        result = function(result, item) if found else item
        found = True
    if not found:
        raise TypeError("reduce() of empty iterable with no initial value")
    return result


def contains(items: Any, wanted: Any) -> Any:
    """`wanted in items`."""
    for item in items:
        if item == wanted:
            return True
    return False


def enumerated(items: Any, start: Any = 0) -> Any:
    """`enumerate(items, start)`."""
    for item in items:
        yield start, item
        start = start + 1


def sorted_of(items: Any, key: Any = None, reverse: Any = False) -> Any:
    """`sorted(items)`: stable, as every exchange is of neighbours that are out of order."""
    result = list(items)
    keys = [item if key is None else key(item) for item in result]
    for end in range(1, len(result)):
        for k in range(end, 0, -1):
            if keys[k - 1] < keys[k] if reverse else keys[k] < keys[k - 1]:
                keys[k - 1], keys[k] = keys[k], keys[k - 1]
                result[k - 1], result[k] = result[k], result[k - 1]
    return result


def index_of(items: Any, wanted: Any) -> Any:
    """`items.index(wanted)`."""
    for position, item in enumerate(items):
        if item is wanted or item == wanted:
            return position
    raise ValueError("list.index(x): x not in list")


def count_of(items: Any, wanted: Any) -> Any:
    """`items.count(wanted)`."""
    count = 0
    for item in items:
        if item is wanted or item == wanted:
            count = count + 1
    return count


def remove_from(items: Any, wanted: Any) -> None:
    """`items.remove(wanted)`."""
    for position, item in enumerate(items):
        if item is wanted or item == wanted:
            del items[position]
            return
    raise ValueError("list.remove(x): x not in list")


def is_less(left: Any, right: Any) -> Any:
    """`left < right` of two tuples or two lists."""
    for one, other in zip(left, right):  # noqa: B905 (the shorter one decides)
        if one != other:
            return one < other
    return len(left) < len(right)


def repeat_text(text: Any, times: Any) -> Any:
    """`text * times`."""
    result = ""
    for _ in range(times):
        result = result + text
    return result


# ---- math and the methods of numbers


def gcd(*numbers: Any) -> Any:
    """`math.gcd(*numbers)`."""
    result = 0
    for number in numbers:
        other = abs(number)
        while other != 0:
            result, other = other, result % other
    return result


def lcm(*numbers: Any) -> Any:
    """`math.lcm(*numbers)`."""
    result = 1
    for number in numbers:
        common = gcd(result, number)
        result = 0 if common == 0 else result // common * abs(number)
    return result


def isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    """`math.isclose(a, b)`."""
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    difference = abs(float(b) - float(a))
    return difference <= abs(rel_tol * b) or difference <= abs(rel_tol * a) or difference <= abs_tol


def fabs(x: Any) -> Any:
    """`math.fabs(x)`."""
    return abs(float(x))


def power(x: Any, y: Any) -> Any:
    """`math.pow(x, y)`: always a float, and no complex numbers."""
    x, y = float(x), float(y)
    if x < 0 and math.isfinite(x) and math.isfinite(y) and y % 1.0 != 0.0:
        raise ValueError("math domain error")
    if x == 0.0 and y < 0:
        raise ValueError("math domain error")
    return x**y


def degrees(x: Any) -> Any:
    """`math.degrees(x)`."""
    return x * (180.0 / math.pi)


def radians(x: Any) -> Any:
    """`math.radians(x)`."""
    return x * (math.pi / 180.0)


def factorial(n: Any) -> Any:
    """`math.factorial(n)`."""
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    result = 1
    for k in range(1, n + 1):
        result = result * k
    return result


def perm(n: Any, k: Any = None) -> Any:
    """`math.perm(n, k)`."""
    if k is None:
        return factorial(n)
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if k < 0:
        raise ValueError("k must be a non-negative integer")
    result = 1
    for j in range(k):
        result = result * (n - j)
    return result


def comb(n: Any, k: Any) -> Any:
    """`math.comb(n, k)`."""
    return perm(n, k) // factorial(k)


def prod(items: Any, start: Any = 1) -> Any:
    """`math.prod(items, start=start)`."""
    for item in items:
        start = start * item
    return start


def log_to_base(x: Any, base: Any) -> Any:
    """`math.log(x, base)`."""
    return math.log(x) / math.log(base)


def is_integer(x: Any) -> Any:
    """`x.is_integer()` of a float."""
    return math.isfinite(x) and math.floor(x) == x


def bit_length(n: Any) -> Any:
    """`n.bit_length()`."""
    n, length = abs(n), 0
    while n != 0:
        n, length = n >> 1, length + 1
    return length


def bit_count(n: Any) -> Any:
    """`n.bit_count()`."""
    n, count = abs(n), 0
    while n != 0:
        n, count = n >> 1, count + n % 2
    return count
