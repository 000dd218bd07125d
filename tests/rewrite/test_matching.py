"""`match` means the same as an `if` chain."""

from dataclasses import dataclass

import pytest

from stator.rewrite.convert import convert
from tests.rewrite.plain_staging import PlainStaging


@dataclass
class Point:
    x: object
    y: object


def matched(value):
    match value:
        case 0 | 1:
            return "small"
        case None | True:
            return "none or true"
        case [a, *rest] if len(rest) > 1:
            return ("long", a, rest)
        case [a, b]:
            return ("pair", a, b)
        case {"k": [k], "z": 1}:
            return ("dict", k)
        case Point(1, y=other):
            return ("point", other)
        case str() as text:
            return text.upper()
        case int(n) | float(n) if n > 10:
            return n
        case _:
            return "rest"


VALUES = [
    0, 1, True, None, [1, 2, 3], (1, 2), [1], [], {"k": [5], "z": 1, "more": 2}, {"k": [5]},
    {"k": [], "z": 1}, Point(1, 9), Point(2, 9), "text", 11, 7, 12.5, object,
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_converted_match_takes_the_same_case(value):
    assert convert(matched, PlainStaging()).function(value) == matched(value)


def test_the_rest_of_a_mapping_is_bound():
    def f(value):
        match value:
            case {"k": k, **rest}:
                return k, rest

    assert convert(f, PlainStaging()).function({"a": 1, "k": 2, "b": 3}) == (2, {"a": 1, "b": 3})
