"""What compiled code assumes of sizes is data, which means what the expression meant."""

import itertools

import pytest

from stator.ahead.conditions import conditions_of, holds

EXPRESSIONS = (
    "2 <= L['t0'] and L['t0'] <= 4096",
    "L['t0'] % 8 == 0 or not (L['t1'] > 3)",
    "2 <= L['t0'] <= L['t1']",
    "max(L['t0'], L['t1']) // 3 != -(1 - L['t0'])",
    "FloorDiv(L['t0'] * L['t1'], 2) < 9",
)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_the_data_holds_for_the_sizes_that_the_expression_holds_for(expression):
    conditions = conditions_of(expression, 2)
    for first, second in itertools.product(range(2, 20), repeat=2):
        names = {"L": {"t0": first, "t1": second}, "FloorDiv": lambda a, b: a // b, "max": max}
        expected = bool(eval(expression, names))  # an expression of this file
        assert holds(conditions, (first, second)) == expected


def test_sizes_below_two_are_never_served():
    assert not holds(conditions_of(None, 2), (2, 1))
    assert holds(conditions_of(None, 2), (2, 2))
    assert conditions_of("2 <= L['t0']", 1) == [["<=", 2, ["size", 0]]]


@pytest.mark.parametrize(
    "expression", ["L['t0'] ** 2 > 4", "f(L['t0'])", "L['t5'] > 1", "1.5 < L['t0']", "x > 2"]
)
def test_what_cannot_be_checked_is_refused(expression):
    with pytest.raises(NotImplementedError, match="its code assumes `"):
        conditions_of(expression, 2)
