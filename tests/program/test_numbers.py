"""Numbers are Python's, and integers have 64 bits."""

import pytest

from stator.program.numbers import LARGEST, NUMBER_FUNCTIONS, SMALLEST, OutOfRange, checked


@pytest.mark.parametrize("value", [0, LARGEST, SMALLEST, True])
def test_what_fits_is_itself(value):
    assert checked(value) is value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2**63, "9223372036854775808"),
        (-(2**63) - 1, "-9223372036854775809"),
        (10**100, "an integer of 333 bits"),
    ],
)
def test_what_does_not_fit_is_an_error(value, text):
    with pytest.raises(OutOfRange) as error:
        checked(value)
    assert str(error.value) == text


@pytest.mark.parametrize(
    ("name", "args", "text"),
    [("pow", (10, 10**9), "10 ** 1000000000"), ("lshift", (1, 10**12), "1 << 1000000000000")],
)
def test_what_would_be_enormous_is_not_computed(name, args, text):
    with pytest.raises(OutOfRange) as error:
        NUMBER_FUNCTIONS[f"stator::{name}"](*args)
    assert str(error.value) == text


@pytest.mark.parametrize(
    ("args", "result"),
    [((-2, 63), -(2**63)), ((1, 10**9), 1), ((-1, 10**9), 1), ((2.0, 100), 2.0**100)],
)
def test_powers_that_fit_are_computed(args, result):
    assert NUMBER_FUNCTIONS["stator::pow"](*args) == result
