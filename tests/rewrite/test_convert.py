"""A converted function means what the original meant."""

from __future__ import annotations

import copy

import pytest

from stator.rewrite.convert import convert
from tests.rewrite.plain_staging import PlainStaging
from tests.rewrite.zoo import ZOO


def outcome(function, arguments):
    """What a call gives, or the exception it ends with."""
    try:
        return function(*copy.deepcopy(arguments))
    except Exception as error:
        kind = UnboundLocalError if isinstance(error, NameError) else type(error)
        cause = type(error.__cause__).__name__
        return kind, () if kind is UnboundLocalError else error.args, cause


CALLS = [(function, call) for function, calls in ZOO for call in calls]


@pytest.mark.parametrize(
    ("function", "arguments"), CALLS, ids=[f"{f.__name__}{call}" for f, call in CALLS]
)
def test_a_converted_function_agrees_with_the_original(function, arguments):
    globals_ = function.__globals__
    globals_["COUNTER"] = 0
    expected = outcome(function, arguments), globals_["COUNTER"]
    globals_["COUNTER"] = 0
    got = outcome(convert(function, PlainStaging()).function, arguments), globals_["COUNTER"]
    assert got == expected
