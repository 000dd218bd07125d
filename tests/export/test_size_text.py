"""parse_size: sizes of old files, which are text."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from stator.export.size_text import MAX_LENGTH, parse_size
from stator.program.sizes import AnySize, SizeExpr, Symbol, evaluate
from tests.program.size_strategies import bindings, sizes

OLD = [
    ("s0", "s0"),
    ("2*s1", "2*s1"),
    ("-s0 + 2*s1 - 1", "-s0 + 2*s1 - 1"),
    ("2*(((s0*s1)//3))", "2*((s0*s1)//3)"),
    ("(((s0 - 1)//2)) + 1", "(s0 - 1)//2 + 1"),
    ("PythonMod(s0, 4)", "s0 % 4"),
    ("Mod(s0 + s1, 4)", "(s0 + s1) % 4"),
    ("Max(1, s0)", "max(1, s0)"),
    ("Min(3, s0, s1)", "min(3, s0, s1)"),
    ("s0*(PowByNatural(2, s1))", "s0*2**s1"),
    ("CeilToInt(IntTrueDiv(s0, 2))", "ceil(s0/2)"),
    ("TruncToInt(1.50000000000000*ToFloat(s0))", "trunc(1.5*s0)"),
    ("CleanDiv(s0, 2)", "s0//2"),
    ("RoundToInt(1.0e-5*ToFloat(s0))", "round(1e-05*s0)"),
    ("n", "n"),
]


@pytest.mark.parametrize(("text", "printed"), OLD, ids=[text for text, _ in OLD])
def test_what_sympy_prints_is_read(text, printed):
    assert str(parse_size(text)) == printed


@given(sizes())
def test_what_is_printed_and_read_prints_the_same(size):
    again = parse_size(str(size))
    if isinstance(size, SizeExpr | Symbol):
        assert str(again) == str(size)


@given(sizes(), bindings())
def test_what_is_printed_and_read_is_the_same_size(size, binding):
    assert evaluate(parse_size(str(size)), binding) == evaluate(size, binding)


@pytest.mark.parametrize(
    "text",
    [
        "", "?", " ", "s0 +", "(s0", "s0)", "s0 s1", "f(s0)", "Max()", "floor(s0, 2)", "1.2.3",
        "0.5", "1e", "s0 ** ", "s0.shape", "s0[0]", "'s0'", "__import__('os')", "lambda: 0",
        "é\x00", "1j",
        "9" * 5000, "(" * 5000 + "s0" + ")" * 5000, "-" * 5000 + "1", "2**" * 3000 + "2",
        "Max(1," * 1000, "s0" * MAX_LENGTH, "Piecewise((s0, s0 > 1), (2, True))", "²", "x-²",
    ],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_what_is_no_expression_of_sizes_is_some_size(text):
    assert parse_size(text) == AnySize()


@given(some.text(alphabet="s01 .e+-*/%(),Maxé²?", max_size=40))
def test_no_text_does_harm(text):
    size = parse_size(text)
    assert evaluate(size, {"s0": 3, "s1": 4}) is None or not isinstance(size, AnySize)
    str(size)
