"""Numbers of the program: `math`, complex numbers, and the attributes and methods of numbers."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy
import torch

from stator.capture.conditions import raise_if
from stator.capture.conversions import index, item
from stator.errors import UnsupportedCall
from stator.library import number_definitions
from stator.library.tensor_calls import scalar_tensor
from stator.library.user_methods import user_method
from stator.program.opset.stator_ops import MATH_OPS
from stator.program.types import NumberKind
from stator.state.session import Session
from stator.values.annotations import Staged
from stator.values.arrays import CapturedArray
from stator.values.symbolic import CapturedComplex, Number, kind_of_number, raise_for_user
from stator.values.union import distribute, first_union, over_unions

PYTHON_TYPES: dict[type, type] = {
    torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool, CapturedComplex: complex,
}  # fmt: skip
NO_SCALAR = "only one element tensors can be converted to Python scalars"
TRUTHS = frozenset({"isnan", "isinf", "isfinite"})
COMPLEX_SIGNS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "**": "pow", "==": "eq", "!=": "ne",
}  # fmt: skip


def number_op(session: Session, name: str, kind: NumberKind, *operands: object) -> Staged:
    """The result of the number op `name`."""
    recorder = session.recorder
    value = recorder.emit_number(f"stator::{name}", tuple(map(recorder.arg, operands)), kind)
    return recorder.number(kind, value)


def plain_number(value: object) -> Staged:
    """An IntEnum member or a scalar of numpy as the plain number that it is."""
    if isinstance(value, numpy.generic):
        return value.item()
    if isinstance(value, int | float) and type(value) not in (bool, int, float):
        return int(value) if isinstance(value, int) else float(value)
    return value


def users_index(session: Session, key: object) -> Staged:
    """The number that an `__index__` of the user's gives, also in a slice; any other `key`."""
    if isinstance(key, slice):
        return slice(*(users_index(session, one) for one in (key.start, key.stop, key.step)))
    method = user_method(key, "__index__")
    return key if method is None else session.interpreter.call_method(method, key)


# ---- math


def _math_function(name: str) -> Callable[..., object]:
    """A function of `math` on captured numbers: an op that means just that function."""
    python = getattr(math, name)
    kind: NumberKind = "bool" if name in TRUTHS else "float"
    return _of_numbers(python, lambda session, *args: number_op(session, name, kind, *args))


def _of_numbers(python: Staged, captured: Callable[..., object]) -> Callable[..., Staged]:
    """`python`, or `captured` where an argument is: tensors are read, unions taken apart."""

    def call(session: Session, *args: Staged, **kwargs: Staged) -> Staged:
        if first_union((args, kwargs)) is not None:
            return distribute(lambda *a, **k: call(session, *a, **k), args, kwargs)
        args = tuple(as_number(session, arg) for arg in args)
        kwargs = {key: as_number(session, arg) for key, arg in kwargs.items()}
        if not any(isinstance(arg, Number) for arg in (*args, *kwargs.values())):
            return python(*args, **kwargs)
        return captured(session, *args, **kwargs)

    return call


def as_number(session: Session, value: object) -> Staged:
    """A tensor of one element as the number that it holds, as `float` and `math` read it."""
    if isinstance(value, CapturedArray):
        return item(session.recorder, value.tensor)
    if not isinstance(value, torch.Tensor):
        return value
    raise_if(session.recorder, math.prod(value.shape) != 1, ValueError(NO_SCALAR))
    return item(session.recorder, value)


def _rounding(name: str) -> Callable[..., object]:
    def captured(session: Session, number: object) -> Staged:
        if isinstance(number, torch.SymBool):
            return operator.add(index(session.recorder, number), 0)
        return number_op(session, name, "int", number) if _is_float(number) else number

    of_numbers = _of_numbers(getattr(math, name), captured)

    def call(session: Session, number: object) -> Staged:
        if name == "trunc" and isinstance(number, torch.Tensor):
            raise TypeError("type Tensor doesn't define __trunc__ method")  # as eager does
        return of_numbers(session, number)

    return call


def _is_float(number: object) -> bool:
    return isinstance(number, torch.SymFloat)


def _defined(name: str) -> Callable[..., object]:
    """A function of `math` that is written out in Python."""
    return _of_numbers(getattr(math, name), _runs(getattr(number_definitions, name)))


def _of_integers(name: str) -> Callable[..., object]:
    """A function of `math` that is written out in Python, and takes integers only."""
    run = _runs(getattr(number_definitions, name))

    def captured(session: Session, *args: Staged) -> Staged:
        for arg in args:
            if arg is not None and not isinstance(arg, Number):
                operator.index(arg)
        return run(session, *(index(session.recorder, arg) for arg in args))

    return _of_numbers(getattr(math, name), captured)


def _runs(definition: Callable[..., object]) -> Callable[..., object]:
    return lambda session, *args, **kwargs: session.interpreter.run(definition, *args, **kwargs)


def _log(session: Session, number: object, *base: object) -> Staged:
    if not base:
        return number_op(session, "log", "float", number)
    return session.interpreter.run(number_definitions.log_to_base, number, *base)


MATH_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    **{getattr(math, name): _math_function(name) for name in MATH_OPS},
    **{getattr(math, name): _rounding(name) for name in ("floor", "ceil", "trunc")},
    **{getattr(math, name): _defined(name) for name in (
        "isclose", "fabs", "degrees", "radians",
    )},
    **{getattr(math, name): _of_integers(name) for name in (
        "gcd", "lcm", "isqrt", "factorial", "comb", "perm",
    )},
    math.log: _of_numbers(math.log, _log),
    math.pow: _of_numbers(math.pow, _runs(number_definitions.power)),
    math.prod: _runs(number_definitions.prod),
}  # fmt: skip


# ---- attributes and methods


def number_attribute(session: Session, number: object, name: str) -> Staged:
    """`number.name`."""
    if name in ("real", "imag"):
        return _part(session, number, name)
    if name in NUMBER_METHODS:
        return functools.partial(NUMBER_METHODS[name], session, number)
    if name in ("numerator", "denominator") and not isinstance(number, torch.SymFloat):
        return index(session.recorder, number) if name == "numerator" else 1
    python = PYTHON_TYPES[type(number)]
    if not hasattr(python, name):
        raise_for_user(AttributeError(f"'{python.__name__}' object has no attribute '{name}'"))
    if not name.startswith("__"):
        kind = python.__name__
        raise UnsupportedCall(f"`{kind}.{name}` of a captured number",
                              fix="compute it with other operations, or with tensors")  # fmt: skip
    return getattr(number, name)


def _part(session: Session, number: object, name: str) -> Staged:
    if isinstance(number, CapturedComplex):
        return number_op(session, name, "float", number)
    if name == "real":
        return _plus(session, number)
    return 0.0 if isinstance(number, torch.SymFloat) else 0


def _plus(session: Session, number: Staged) -> Staged:
    """`+number`: a bool becomes an int."""
    return index(session.recorder, number) if isinstance(number, torch.SymBool) else number


def _conjugate(session: Session, number: object) -> Staged:
    if not isinstance(number, CapturedComplex):
        return _plus(session, number)
    return complex_of(session, _part(session, number, "real"), -_part(session, number, "imag"))


def _is_integer(session: Session, number: object) -> Staged:
    if not isinstance(number, torch.SymFloat):
        return True
    return session.interpreter.run(number_definitions.is_integer, number)


def _bit_length(session: Session, number: object) -> Staged:
    return session.interpreter.run(number_definitions.bit_length, index(session.recorder, number))


def _bit_count(session: Session, number: object) -> Staged:
    return session.interpreter.run(number_definitions.bit_count, index(session.recorder, number))


NUMBER_METHODS: dict[str, Callable[..., Any]] = {
    "conjugate": _conjugate, "is_integer": _is_integer, "bit_length": _bit_length,
    "bit_count": _bit_count,
}  # fmt: skip


# ---- complex numbers

ORDER_SIGNS = ("<", "<=", ">", ">=")  # no complex number is before another one


def complex_of(session: Session, *parts: object) -> Staged:
    """`complex(real, imag)` of captured numbers."""
    if first_union(parts) is not None:
        return distribute(lambda *p: complex_of(session, *p), parts, {})
    numbers = [as_number(session, part) for part in parts]
    if not any(isinstance(number, Number | CapturedComplex) for number in numbers):
        return complex(*numbers)
    if len(numbers) == 1 and isinstance(numbers[0], CapturedComplex):
        return numbers[0]
    return number_op(session, "complex", "complex", *numbers)


def complex_arithmetic(session: Session, left: object, sign: str, right: object) -> Staged:
    """`left SIGN right`, one of them a captured complex number."""
    if isinstance(left, torch.Tensor) or isinstance(right, torch.Tensor):
        left, right = _as_tensor(session, left, right), _as_tensor(session, right, left)
        return session.interpreter.arithmetic(left, sign, right)
    if sign in ORDER_SIGNS:
        first, second = (_number_name(one) for one in (left, right))
        raise TypeError(f"'{sign}' not supported between instances of '{first}' and '{second}'")
    if sign not in COMPLEX_SIGNS:
        raise UnsupportedCall(f"`{sign}` of a captured complex number is not supported",
                              fix="compute it with tensors")  # fmt: skip
    kind: NumberKind = "bool" if sign in ("==", "!=") else "complex"
    return number_op(session, COMPLEX_SIGNS[sign], kind, left, right)


def _number_name(value: object) -> str:
    """The class of a number, as Python has it."""
    is_number = isinstance(value, Number | CapturedComplex)
    return kind_of_number(value) if is_number else type(value).__name__


def _as_tensor(session: Session, value: object, other: Staged) -> Staged:
    """A complex number as a tensor that takes part in an op just as the number would."""
    if not isinstance(value, CapturedComplex):
        return value
    parts = [
        scalar_tensor(session, number_op(session, name, "float", value), torch.float64, None)
        for name in ("real", "imag")
    ]
    return torch.complex(*parts).to(torch.result_type(other, 1j))


@over_unions("number")
def absolute(session: Session, number: Staged) -> Staged:
    """`abs(number)`."""
    if isinstance(number, torch.SymBool):
        number = index(session.recorder, number)
    if isinstance(number, torch.SymFloat | CapturedComplex):
        return number_op(session, "abs", "float", number)
    return abs(number)


@over_unions("value")
def rounded(session: Session, value: Staged, digits: Staged = None) -> Staged:
    """`round(value, digits)`."""
    recorder = session.recorder
    if isinstance(value, torch.SymBool):
        value = index(recorder, value)
    if isinstance(value, torch.SymFloat) and digits is None:
        return number_op(session, "round", "int", value)
    if isinstance(value, torch.SymFloat | torch.SymInt) and digits is not None:
        kind: NumberKind = "float" if isinstance(value, torch.SymFloat) else "int"
        return number_op(session, "round", kind, value, digits)
    return round(value) if digits is None else round(value, digits)
