"""Numbers of the program: `math`, complex numbers, and the attributes and methods of numbers."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy
import torch

from stator.capture.arrays import CapturedArray
from stator.capture.numbers import Number
from stator.capture.places import current_place
from stator.capture.values import CapturedComplex, distribute, first_variant
from stator.errors import UnsupportedCall
from stator.program.ops import MATH_OPS
from stator.program.types import NumberKind
from stator.staging import definitions
from stator.staging.session import Session
from stator.staging.tensor_calls import scalar_tensor
from stator.staging.truth import item

PYTHON_TYPES: dict[type, type] = {
    torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool, CapturedComplex: complex,
}  # fmt: skip
TRUTHS = frozenset({"isnan", "isinf", "isfinite"})
COMPLEX_SIGNS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "**": "pow", "==": "eq", "!=": "ne",
}  # fmt: skip


def number_op(session: Session, name: str, kind: NumberKind, *operands: Any) -> Any:
    """The result of the number op `name`."""
    recorder = session.recorder
    value = recorder.emit_number(f"stator::{name}", tuple(map(recorder.arg, operands)), kind)
    return recorder.number(kind, value)


def plain_number(value: Any) -> Any:
    """An IntEnum member or a scalar of numpy as the plain number that it is."""
    if isinstance(value, numpy.generic):
        return value.item()
    if isinstance(value, int | float) and type(value) not in (bool, int, float):
        return int(value) if isinstance(value, int) else float(value)
    return value


# ---- math


def _math_function(name: str) -> Callable[..., Any]:
    """A function of `math` on captured numbers: an op that means just that function."""
    python = getattr(math, name)
    kind: NumberKind = "bool" if name in TRUTHS else "float"
    return _of_numbers(python, lambda session, *args: number_op(session, name, kind, *args))


def _of_numbers(python: Any, captured: Callable[..., Any]) -> Callable[..., Any]:
    """`python`, or `captured` where an argument is: tensors are read, unions taken apart."""

    def call(session: Session, *args: Any, **kwargs: Any) -> Any:
        if first_variant((args, kwargs)) is not None:
            return distribute(lambda *a, **k: call(session, *a, **k), args, kwargs)
        args = tuple(_as_number(session, arg) for arg in args)
        kwargs = {key: _as_number(session, arg) for key, arg in kwargs.items()}
        if not any(isinstance(arg, Number) for arg in (*args, *kwargs.values())):
            return python(*args, **kwargs)
        return captured(session, *args, **kwargs)

    return call


def _as_number(session: Session, value: Any) -> Any:
    """A tensor of one element as the number that it holds."""
    if isinstance(value, CapturedArray):
        value = value.tensor
    return item(session.recorder, value) if isinstance(value, torch.Tensor) else value


def _rounding(name: str) -> Callable[..., Any]:
    def captured(session: Session, number: Any) -> Any:
        if isinstance(number, torch.SymBool):
            return operator.add(session.index(number), 0)
        return number_op(session, name, "int", number) if _is_float(number) else number

    of_numbers = _of_numbers(getattr(math, name), captured)

    def call(session: Session, number: Any) -> Any:
        if name == "trunc" and isinstance(number, torch.Tensor):
            raise TypeError("type Tensor doesn't define __trunc__ method")  # as eager does
        return of_numbers(session, number)

    return call


def _is_float(number: Any) -> bool:
    return isinstance(number, torch.SymFloat)


def _defined(name: str) -> Callable[..., Any]:
    """A function of `math` that is written out in Python."""
    definition = getattr(definitions, name)
    return _of_numbers(getattr(math, name), lambda session, *args, **kwargs: session.run(
        definition, *args, **kwargs))  # fmt: skip


def _log(session: Session, number: Any, *base: Any) -> Any:
    if not base:
        return number_op(session, "log", "float", number)
    return session.run(definitions.log_to_base, number, *base)


MATH_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{getattr(math, name): _math_function(name) for name in MATH_OPS},
    **{getattr(math, name): _rounding(name) for name in ("floor", "ceil", "trunc")},
    **{getattr(math, name): _defined(name) for name in (
        "gcd", "lcm", "isclose", "fabs", "degrees", "radians", "factorial", "comb", "perm",
    )},
    math.log: _of_numbers(math.log, _log),
    math.pow: _of_numbers(math.pow, lambda session, *a: session.run(definitions.power, *a)),
    math.prod: lambda session, items, start=1: session.run(definitions.prod, items, start),
}  # fmt: skip


# ---- attributes and methods


def number_attribute(session: Session, number: Any, name: str) -> Any:
    """`number.name`."""
    if name in ("real", "imag"):
        return _part(session, number, name)
    if name in NUMBER_METHODS:
        return functools.partial(NUMBER_METHODS[name], session, number)
    if name in ("numerator", "denominator") and not isinstance(number, torch.SymFloat):
        return session.index(number) if name == "numerator" else 1
    if not hasattr(number, name) and hasattr(PYTHON_TYPES[type(number)], name):
        kind = PYTHON_TYPES[type(number)].__name__
        raise UnsupportedCall(f"`{kind}.{name}` of a captured number", at=current_place(),
                              fix="compute it with other operations, or with tensors")  # fmt: skip
    return getattr(number, name)


def _part(session: Session, number: Any, name: str) -> Any:
    if isinstance(number, CapturedComplex):
        return number_op(session, name, "float", number)
    if name == "real":
        return session.index(number)
    return 0.0 if isinstance(number, torch.SymFloat) else 0


def _conjugate(session: Session, number: Any) -> Any:
    if not isinstance(number, CapturedComplex):
        return session.index(number)
    return complex_of(session, _part(session, number, "real"), -_part(session, number, "imag"))


def _is_integer(session: Session, number: Any) -> Any:
    if not isinstance(number, torch.SymFloat):
        return True
    return session.run(definitions.is_integer, number)


def _bit_length(session: Session, number: Any) -> Any:
    return session.run(definitions.bit_length, session.index(number))


def _bit_count(session: Session, number: Any) -> Any:
    return session.run(definitions.bit_count, session.index(number))


NUMBER_METHODS: dict[str, Callable[..., Any]] = {
    "conjugate": _conjugate, "is_integer": _is_integer, "bit_length": _bit_length,
    "bit_count": _bit_count,
}  # fmt: skip


# ---- complex numbers


def complex_of(session: Session, *parts: Any) -> Any:
    """`complex(real, imag)` of captured numbers."""
    if first_variant(parts) is not None:
        return distribute(lambda *p: complex_of(session, *p), parts, {})
    numbers = [_as_number(session, part) for part in parts]
    if not any(isinstance(number, Number | CapturedComplex) for number in numbers):
        return complex(*numbers)
    if len(numbers) == 1 and isinstance(numbers[0], CapturedComplex):
        return numbers[0]
    return number_op(session, "complex", "complex", *numbers)


def complex_arithmetic(session: Session, left: Any, sign: str, right: Any) -> Any:
    """`left SIGN right`, one of them a captured complex number."""
    if isinstance(left, torch.Tensor) or isinstance(right, torch.Tensor):
        left, right = _as_tensor(session, left, right), _as_tensor(session, right, left)
        return session.arithmetic(left, sign, right)
    if sign not in COMPLEX_SIGNS:
        raise UnsupportedCall(f"`{sign}` of a captured complex number", at=current_place(),
                              fix="compute it with tensors")  # fmt: skip
    kind: NumberKind = "bool" if sign in ("==", "!=") else "complex"
    return number_op(session, COMPLEX_SIGNS[sign], kind, left, right)


def _as_tensor(session: Session, value: Any, other: Any) -> Any:
    """A complex number as a tensor that takes part in an op just as the number would."""
    if not isinstance(value, CapturedComplex):
        return value
    parts = [
        scalar_tensor(session, number_op(session, name, "float", value), torch.float64, None)
        for name in ("real", "imag")
    ]
    return torch.complex(*parts).to(torch.result_type(other, 1j))


def absolute(session: Session, number: Any) -> Any:
    """`abs(number)`."""
    if isinstance(number, torch.SymBool):
        number = session.index(number)
    if isinstance(number, torch.SymFloat | CapturedComplex):
        return number_op(session, "abs", "float", number)
    return abs(number)
