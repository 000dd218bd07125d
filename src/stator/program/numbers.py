"""What each number op means: a table of Python functions, for the interpreter and for folding.

Integers have 64 bits, with a sign. `checked` is where a result must pass; powers and shifts raise
before they compute something enormous.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from stator.program.opset.stator_ops import MATH_OPS

SMALLEST, LARGEST = -(2**63), 2**63 - 1


class OutOfRange(OverflowError):
    """An integer has more than 64 bits; the text of the error is the integer."""


def fits(value: int) -> bool:
    """Has `value` at most 64 bits, with its sign?"""
    return SMALLEST <= value <= LARGEST


def shown(value: int) -> str:
    """`value` for a message: its digits, or how many bits it has."""
    bits = value.bit_length()
    return str(value) if bits <= 128 else f"an integer of {bits} bits"


def checked(value: int) -> int:
    """`value`; raises OutOfRange unless it fits."""
    if fits(value):
        return value
    raise OutOfRange(shown(value))


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1 and exponent > 63:
        raise OutOfRange(f"{base} ** {exponent}")
    return base**exponent


def _left_shift(value: int, count: int) -> int:
    if value != 0 and count > 63:
        raise OutOfRange(f"{value} << {count}")
    return value << count


def _both(*values: Any) -> Any:
    return functools.reduce(lambda left, right: left and right, values)


def _either(*values: Any) -> Any:
    return functools.reduce(lambda left, right: left or right, values)


def _select(index: int, items: Sequence[Any]) -> Any:
    return items[index]


NUMBER_FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "stator::add": operator.add,
        "stator::sub": operator.sub,
        "stator::mul": operator.mul,
        "stator::truediv": operator.truediv,
        "stator::floordiv": operator.floordiv,
        "stator::mod": operator.mod,
        "stator::pow": _power,
        "stator::neg": operator.neg,
        "stator::abs": operator.abs,
        "stator::bitand": operator.and_,
        "stator::bitor": operator.or_,
        "stator::bitxor": operator.xor,
        "stator::lshift": _left_shift,
        "stator::rshift": operator.rshift,
        "stator::invert": operator.invert,
        "stator::min": min,
        "stator::max": max,
        "stator::eq": operator.eq,
        "stator::ne": operator.ne,
        "stator::lt": operator.lt,
        "stator::le": operator.le,
        "stator::gt": operator.gt,
        "stator::ge": operator.ge,
        "stator::and": _both,
        "stator::or": _either,
        "stator::not": operator.not_,
        "stator::int": int,
        "stator::float": float,
        "stator::bool": bool,
        "stator::complex": complex,
        "stator::real": operator.attrgetter("real"),
        "stator::imag": operator.attrgetter("imag"),
        "stator::round": round,
        "stator::floor": math.floor,
        "stator::ceil": math.ceil,
        "stator::trunc": math.trunc,
        "stator::select": _select,
        **{f"stator::{name}": getattr(math, name) for name in MATH_OPS},
    }
)
