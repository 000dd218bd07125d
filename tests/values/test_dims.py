"""dim_of: what torch computes of sizes, as data."""

import pytest
import sympy
import torch
from hypothesis import given
from hypothesis import strategies as some
from torch.utils._sympy import functions

import stator
from stator import InputSpec
from stator.program.sizes import AnySize, evaluate
from stator.values.dims import MAX_DEPTH, dim_of

A, B = sympy.symbols("u0 u1", integer=True, nonnegative=True)
X = functions.ToFloat(A)

EXPRESSIONS = [
    (2 * B, "2*u1"),
    (B - A, "-u0 + u1"),
    (2 * A - B - 3, "2*u0 - u1 - 3"),
    ((A + 1) * B, "u1*(u0 + 1)"),
    (functions.FloorDiv(A - 1, 2) + 1, "(u0 - 1)//2 + 1"),
    (2 * functions.FloorDiv(A * B, 3), "2*((u0*u1)//3)"),
    (functions.CleanDiv(A, 5), "u0//5"),
    (functions.PythonMod(A, 4), "u0 % 4"),
    (functions.Mod(A + B, 4), "(u0 + u1) % 4"),
    (functions.Max(1, A), "max(1, u0)"),
    (functions.Min(A, B, 3), "min(3, u0, u1)"),
    (sympy.Abs(A - B), "max(u0 - u1, -u0 + u1)"),
    (A**2, "u0**2"),
    (functions.PowByNatural(sympy.Integer(2), A), "2**u0"),
    (functions.LShift(A, B), "u0*2**u1"),
    (functions.CeilToInt(functions.IntTrueDiv(A, 2)), "ceil(u0/2)"),
    (functions.FloorToInt(1.5 * X), "floor(1.5*u0)"),
    (functions.TruncToInt(functions.FloatTrueDiv(X, 0.5)), "trunc(u0/0.5)"),
    (functions.RoundToInt(0.5 * X), "round(0.5*u0)"),
]


@pytest.mark.parametrize(("expression", "text"), EXPRESSIONS, ids=[text for _, text in EXPRESSIONS])
def test_an_expression_of_sizes_is_data(expression, text):
    assert str(dim_of(expression)) == text


@pytest.mark.parametrize("expression", [expression for expression, _ in EXPRESSIONS], ids=str)
@given(a=some.integers(0, 40), b=some.integers(0, 40))
def test_a_size_has_the_value_that_sympy_gives_it(expression, a, b):
    exact = expression.subs({A: a, B: b})
    assert evaluate(dim_of(expression), {"u0": a, "u1": b}) == int(exact)


@pytest.mark.parametrize(
    "expression",
    [
        A / 2,
        sympy.Pow(A, -1),
        sympy.Piecewise((A, A > B), (B, True)),
        functions.Where(A > B, A, B),
        functions.FloatPow(X, 0.5),
    ],
    ids=str,
)
def test_what_the_program_has_no_op_for_is_some_size(expression):
    assert dim_of(expression) == AnySize()


def test_what_is_nested_too_deeply_is_some_size():
    size = A
    for _ in range(MAX_DEPTH // 2 - 1):
        size = functions.FloorDiv(size + 1, B)
    assert dim_of(size) != AnySize()
    for _ in range(MAX_DEPTH):
        size = functions.FloorDiv(size + 1, B)
    assert dim_of(size) == AnySize()


def test_sizes_of_a_captured_program_are_those_of_a_run():
    kernel = torch.ones(1, 1, 3)

    def convolved(x):
        y = torch.nn.functional.conv1d(torch.cat([x, x[1:]])[:, None], kernel, stride=2)[:, 0]
        return y, y.repeat(2, 1), y[::3], torch.arange(x.shape[0] // 2, 2 * x.shape[1])

    static = stator.to_static(convolved, input_spec=[InputSpec([None, None])])
    x = torch.rand(4, 9)
    results = static(x)
    program = static.program
    binding = dict(zip(("s0", "s1"), x.shape, strict=True))
    for value, result in zip(program.body.outputs, results, strict=True):
        assert tuple(evaluate(size, binding) for size in value.type.shape) == result.shape
