"""Sizes as data: printed, evaluated, substituted."""

import math

import pytest
from hypothesis import given

from stator.program.sizes import (
    AnySize,
    SizeExpr,
    Symbol,
    evaluate,
    is_static,
    negated,
    substitute,
    symbols_in,
)
from tests.program.size_strategies import bindings, expressions, sizes

A, B = Symbol("a"), Symbol("b")


def add(*args):
    return SizeExpr("add", args)


def mul(*args):
    return SizeExpr("mul", args)


def expr(op, *args):
    return SizeExpr(op, args)


PRINTED = [
    (A, "a"),
    (AnySize(), "?"),
    (mul(2, A), "2*a"),
    (add(A, 1), "a + 1"),
    (add(A, -1), "a - 1"),
    (add(mul(-1, A), B), "-a + b"),
    (add(A, mul(-1, B)), "a - b"),
    (add(A, mul(-2, B), -3), "a - 2*b - 3"),
    (mul(B, add(A, 1)), "b*(a + 1)"),
    (mul(-1, A, B), "-a*b"),
    (mul(A, -2), "a*(-2)"),
    (expr("floordiv", add(A, -1), 2), "(a - 1)//2"),
    (add(expr("floordiv", A, 2), 1), "a//2 + 1"),
    (mul(2, expr("floordiv", A, 2)), "2*(a//2)"),
    (mul(-1, expr("floordiv", A, 2)), "-(a//2)"),
    (expr("floordiv", mul(-1, A), 2), "(-a)//2"),
    (expr("mod", mul(2, A), 3), "(2*a) % 3"),
    (expr("pow", A, 2), "a**2"),
    (mul(-3, expr("pow", A, 2)), "-3*a**2"),
    (expr("pow", -2, A), "(-2)**a"),
    (expr("max", 1, add(A, -4)), "max(1, a - 4)"),
    (expr("ceil", expr("truediv", A, 2)), "ceil(a/2)"),
    (expr("trunc", mul(1.5, A)), "trunc(1.5*a)"),
    (add(A, add(B, 1)), "a + (b + 1)"),
]


@pytest.mark.parametrize(("size", "text"), PRINTED, ids=[text for _, text in PRINTED])
def test_a_size_prints_as_python_would_write_it(size, text):
    assert str(size) == text


@given(expressions(), bindings())
def test_what_is_printed_means_the_same_in_python(size, binding):
    wanted = evaluate(size, binding)
    if wanted is not None:
        functions = {"floor": math.floor, "ceil": math.ceil, "trunc": math.trunc}
        assert eval(str(size), functions, binding) == wanted


@given(sizes())
def test_a_size_is_known_once_its_symbols_are(size):
    binding = dict.fromkeys(symbols_in(size), 3)
    known = substitute(size, binding.__getitem__)
    assert evaluate(known, {}) == evaluate(size, binding)
    assert list(symbols_in(known)) == []


@given(expressions(), bindings())
def test_a_size_negated_has_the_other_sign(size, binding):
    value = evaluate(size, binding)
    if value is not None:
        assert evaluate(negated(size), binding) == -value


@pytest.mark.parametrize(
    "size",
    [
        AnySize(),
        Symbol("unknown"),
        expr("floordiv", 1, 0),
        expr("mod", 1, 0),
        expr("pow", 10, 10**9),
        expr("pow", 10, 60),
        expr("pow", 2, -1),
        expr("truediv", 1, 2),
        expr("floor", 1e308 * 10),
        expr("round", float("nan")),
    ],
    ids=str,
)
def test_what_has_no_value_as_a_size_has_none(size):
    assert evaluate(size, {}) is None


def test_symbols_are_met_from_left_to_right():
    assert list(symbols_in(add(mul(B, A), expr("max", A, 2)))) == ["b", "a", "a"]


def test_a_symbol_can_be_renamed_or_replaced_by_a_size():
    size = add(mul(2, A), B)
    assert str(substitute(size, lambda name: Symbol(name.upper()))) == "2*A + B"
    assert str(substitute(size, {"a": add(B, 1), "b": 3}.__getitem__)) == "2*(b + 1) + 3"
    assert substitute(AnySize(), {}.__getitem__) == AnySize()


def test_a_shape_is_static_if_all_its_sizes_are_numbers():
    assert is_static(())
    assert is_static((2, 3))
    assert not is_static((2, A))
    assert not is_static((AnySize(),))
