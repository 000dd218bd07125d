"""Functions of `math` and methods of numbers, written out in Python.

They are converted like user code where their operands are captured.
"""

from __future__ import annotations

import math

from stator.values.annotations import Staged

NO_REAL = {
    "int": "int() argument must be a string, a bytes-like object or a real number, not 'complex'",
    "float": "float() argument must be a string or a real number, not 'complex'",
}


def gcd(*numbers: Staged) -> Staged:
    """`math.gcd(*numbers)`."""
    result = 0
    for number in numbers:
        other = abs(number)
        while other != 0:
            result, other = other, result % other
    return result


def inverse_modulo(base: Staged, modulus: Staged) -> Staged:
    """`pow(base, -1, modulus)`, by Euclid's algorithm."""
    rest, last, factor, before = base % modulus, modulus, 1, 0
    while rest != 0:
        quotient = last // rest
        last, rest = rest, last - quotient * rest
        before, factor = factor, before - quotient * factor
    if abs(last) != 1:
        raise ValueError("base is not invertible for the given modulus")
    return before * last % modulus


def power_modulo(base: Staged, exponent: Staged, modulus: Staged) -> Staged:
    """`pow(base, exponent, modulus)`."""
    if modulus == 0:
        raise ValueError("pow() 3rd argument cannot be 0")
    if exponent < 0:
        base, exponent = inverse_modulo(base, modulus), -exponent
    result, base = 1 % modulus, base % modulus
    while exponent > 0:
        if exponent % 2 == 1:
            result = result * base % modulus
        base = base * base % modulus
        exponent = exponent // 2
    return result


def isqrt(number: Staged) -> Staged:
    """`math.isqrt(number)`, by Newton's method."""
    if number < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root, following = number, (number + 1) // 2
    while following < root:
        root = following
        following = (root + number // root) // 2
    return root


def lcm(*numbers: Staged) -> Staged:
    """`math.lcm(*numbers)`."""
    result = 1
    for number in numbers:
        common = gcd(result, number)
        result = 0 if common == 0 else result // common * abs(number)
    return result


def isclose(a: Staged, b: Staged, *, rel_tol: Staged = 1e-09, abs_tol: Staged = 0.0) -> Staged:
    """`math.isclose(a, b)`."""
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    difference = abs(float(b) - float(a))
    return difference <= abs(rel_tol * b) or difference <= abs(rel_tol * a) or difference <= abs_tol


def fabs(x: Staged) -> Staged:
    """`math.fabs(x)`."""
    return abs(float(x))


def power(x: Staged, y: Staged) -> Staged:
    """`math.pow(x, y)`: always a float, and no complex numbers."""
    x, y = float(x), float(y)
    if x < 0 and math.isfinite(x) and math.isfinite(y) and y % 1.0 != 0.0:
        raise ValueError("math domain error")
    if x == 0.0 and y < 0:
        raise ValueError("math domain error")
    return x**y


def degrees(x: Staged) -> Staged:
    """`math.degrees(x)`."""
    return x * (180.0 / math.pi)


def radians(x: Staged) -> Staged:
    """`math.radians(x)`."""
    return x * (math.pi / 180.0)


def factorial(n: Staged) -> Staged:
    """`math.factorial(n)`."""
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    result = 1
    for k in range(1, n + 1):
        result = result * k
    return result


def perm(n: Staged, k: Staged = None) -> Staged:
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


def comb(n: object, k: object) -> Staged:
    """`math.comb(n, k)`."""
    return perm(n, k) // factorial(k)


def prod(items: Staged, start: object = 1) -> Staged:
    """`math.prod(items, start=start)`."""
    for item in items:
        start = start * item
    return start


def log_to_base(x: Staged, base: Staged) -> Staged:
    """`math.log(x, base)`."""
    return math.log(x) / math.log(base)


def is_integer(x: Staged) -> Staged:
    """`x.is_integer()` of a float."""
    return math.isfinite(x) and math.floor(x) == x


def bit_length(n: Staged) -> Staged:
    """`n.bit_length()`."""
    n, length = abs(n), 0
    while n != 0:
        n, length = n >> 1, length + 1
    return length


def bit_count(n: Staged) -> Staged:
    """`n.bit_count()`."""
    n, count = abs(n), 0
    while n != 0:
        n, count = n >> 1, count + n % 2
    return count
