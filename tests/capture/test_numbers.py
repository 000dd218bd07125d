"""Symbolic numbers: what a program computes is what Python computes, to the last bit."""

import pytest
import sympy
import torch

from stator.capture.numbers import both, either, in_words
from stator.values.symbolic import kind_of_number
from tests.capture.oracle import check

INTS = tuple((torch.tensor(k),) for k in (3, 7, 0, -7, 2))
FLOATS = tuple((torch.tensor(k, dtype=torch.float64),) for k in (0.1, 1e16, -2.5, 0.0, 7.3))


@pytest.mark.parametrize(
    "function",
    [
        lambda n: n + 1, lambda n: n - 5, lambda n: 5 - n, lambda n: n * n, lambda n: -n,
        lambda n: abs(n), lambda n: n // 2, lambda n: n // -2, lambda n: n % 3, lambda n: n % -3,
        lambda n: -n // 2, lambda n: n / 3, lambda n: 7 / (n + 0.5), lambda n: n**2,
        lambda n: divmod(n, 3), lambda n: max(n, 2), lambda n: min(n, 2, 1), lambda n: n * 0.5,
        lambda n: float(n), lambda n: int(n / 2), lambda n: round(n / 3), lambda n: round(n / 3, 2),
        lambda n: n << 2, lambda n: n >> 1, lambda n: bool(n), lambda n: (n + 1) * (n - 1) - n * n,
        lambda n: n // 2 * 2 + n % 2, lambda n: 0 if n > 2 else n,
    ],
)  # fmt: skip
def test_int_arithmetic_is_pythons(function):
    check(lambda x: function(int(x)), *INTS)


@pytest.mark.parametrize(
    "function",
    [
        lambda v: v + 0.2, lambda v: v + 0.2 + 0.3, lambda v: 0.2 + 0.3 + v, lambda v: v - 0.1,
        lambda v: v * 3, lambda v: v * 0.1 * 3, lambda v: v / 3, lambda v: (v + 1) - v,
        lambda v: v // 0.3, lambda v: v % 0.3, lambda v: v**2, lambda v: -v, lambda v: abs(v),
        lambda v: v == 0.1, lambda v: v < 0, lambda v: int(v), lambda v: round(v),
        lambda v: v - v, lambda v: v * 0.0, lambda v: v * -1.0,
    ],
)  # fmt: skip
def test_float_arithmetic_is_exact(function):
    static = check(lambda x: function(x.item()), *FLOATS)
    for (x,) in FLOATS:
        assert repr(static(x)) == repr(function(x.item()))


def test_zero_and_minus_zero_are_two_constants():
    def f(x):
        v = x.item()
        return f"{v * 0.0} {v * -0.0}"

    check(f, (torch.tensor(1.0),))


@pytest.mark.parametrize("function", [lambda n: n // n, lambda n: n % n])
def test_division_by_a_number_that_is_zero_raises(function):
    check(lambda x: function(int(x)), *INTS)


@pytest.mark.parametrize(
    "function", [lambda n: n & 1, lambda n: n | 1, lambda n: n ^ 1, lambda n: ~n]
)
def test_bits_of_a_captured_int_are_pythons(function):
    check(lambda x: function(int(x)), *INTS)


@pytest.mark.parametrize(
    "function", [lambda b: b + 1, lambda b: b * 3, lambda b: b + b, lambda b: b & True]
)
def test_a_captured_bool_counts_as_an_int(function):
    check(lambda x: function(int(x) > 2), *INTS)


def test_a_captured_bool_has_a_negative():
    check(lambda x: -(int(x) > 2), *INTS)


def test_int_power_of_a_captured_exponent():
    check(lambda x: 2 ** int(x), *((torch.tensor(k),) for k in (3, 0)))


@pytest.mark.parametrize(
    ("number", "kind"), [(True, "bool"), (1, "int"), (1.0, "float"), (1j, "complex")]
)
def test_the_kind_of_a_number_is_its_python_type(number, kind):
    assert kind_of_number(number) == kind


@pytest.mark.parametrize(("a", "b"), [(a, b) for a in (True, False) for b in (True, False)])
def test_both_and_either_of_known_values(a, b):
    assert both(a, b) is (a and b)
    assert either(a, b) is (a or b)


def test_a_fact_in_words():
    a, b = sympy.symbols("a b")
    names = {a: "x.shape[0]", b: "y.shape[1]"}
    assert in_words(sympy.Eq(a, b), names) == "x.shape[0] == y.shape[1]"
    assert in_words(sympy.Ge(a, 3), names) == "x.shape[0] >= 3"
