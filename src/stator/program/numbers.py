"""What each number op means: a table of Python functions, for the interpreter and for folding."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from stator.program.ops import MATH_OPS


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
        "stator::pow": operator.pow,
        "stator::neg": operator.neg,
        "stator::abs": operator.abs,
        "stator::bitand": operator.and_,
        "stator::bitor": operator.or_,
        "stator::bitxor": operator.xor,
        "stator::lshift": operator.lshift,
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
