"""Arithmetic of converted code: torch's own, but for what Python numbers, lists and strings need.

A captured truth value counts as 0 or 1; `//`, `%` and `**` of captured numbers are recorded as what
they are (torch would make `a // b` of floats into a division and a floor, which rounds otherwise,
and a division by a captured zero must raise where it is, used or not); a list is repeated, and
text put together, by the program.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy
import torch

from stator.capture.conditions import as_union, choose
from stator.capture.conversions import index, to_int
from stator.capture.flatten import list_of
from stator.capture.numbers import both
from stator.capture.text_ops import as_captured
from stator.containers import counters, definitions
from stator.containers.dict_calls import combined_dicts, combines_dicts, refuse_open_views
from stator.containers.lists import concatenated, is_captured, is_tuple, repeated
from stator.containers.set_operators import COMBINED, are_sets_of_a_run, combined
from stator.library.array_operands import beside_tensor
from stator.library.known_arrays import NOT_KNOWN, compute_known
from stator.library.number_calls import complex_arithmetic, number_op, plain_number
from stator.library.text import fstring, is_text_of_run, percent_format
from stator.library.user_methods import user_method
from stator.staging.operator_methods import NOT_WRITTEN, written_arithmetic
from stator.state.callers_arrays import used_array
from stator.state.session import VIEWS, Session, read_modes
from stator.state.unconverted import watched
from stator.values.annotations import Staged
from stator.values.arrays import CapturedArray, KnownArray
from stator.values.staged import StagedList, python_name
from stator.values.symbolic import (
    CapturedComplex,
    CapturedText,
    Number,
    kind_of_number,
    needs_a_value,
)
from stator.values.union import over_unions

PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "@": operator.matmul,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift,
    ">>": operator.rshift,
}  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg, "+": operator.pos, "~": operator.invert,
}  # fmt: skip
RECORDED = {"//": "floordiv", "%": "mod", "**": "pow"}
BITWISE = {"&": "bitand", "|": "bitor", "^": "bitxor", "<<": "lshift", ">>": "rshift"}  # fmt: skip
CAPTURED = (Number, CapturedComplex)
DIVISIONS = ("/", "//", "%")
PLAIN = (torch.Tensor, int, float, complex)


@over_unions("left", "right")
def arithmetic(session: Session, left: object, sign: str, right: object) -> Staged:
    """`left SIGN right`."""
    read_modes(session, left, right)
    left, right = used_array(session, left, right), used_array(session, right, left)
    if isinstance(left, PLAIN) and isinstance(right, PLAIN):
        return PYTHON[sign](left, right)
    written = written_arithmetic(session, left, sign, right)
    if written is not NOT_WRITTEN:
        return written
    if isinstance(left, VIEWS) or isinstance(right, VIEWS):
        refuse_open_views(session, left, right)
    if combines_dicts(left, sign, right):
        return combined_dicts(session, left, sign, right)
    if sign in COMBINED and are_sets_of_a_run(left, right):
        return combined(session, left, sign, right)
    if sign == "%" and isinstance(left, str):
        return _texts(session, left, sign, right)
    if isinstance(left, list) or isinstance(right, list):
        return _lists(session, session.staged(left), sign, session.staged(right))
    if isinstance(left, str | CapturedText):
        return _texts(session, left, sign, right)
    if isinstance(right, str | CapturedText):
        if sign == "*":
            return _repeated_text(session, right, left)
        return PYTHON[sign](left, _plain_text(right, left))
    if isinstance(left, CAPTURED) or isinstance(right, CAPTURED):
        return _numbers(session, plain_number(left), sign, plain_number(right))
    return _python(session, left, sign, right)


def _numbers(session: Session, left: object, sign: str, right: object) -> Staged:
    """Arithmetic with a captured number."""
    if sign == "*" and (type(left) is tuple or type(right) is tuple):
        items = [StagedList(one) if type(one) is tuple else one for one in (left, right)]
        return session.interpreter.call(tuple, _lists(session, items[0], sign, items[1]))
    if isinstance(left, CapturedComplex) or isinstance(right, CapturedComplex):
        return complex_arithmetic(session, left, sign, right)
    if isinstance(left, torch.SymBool) or isinstance(right, torch.SymBool):
        return _truth_values(session, left, sign, right)
    is_zero = isinstance(right, int | float) and right == 0
    if is_zero and sign in DIVISIONS and isinstance(left, Number):
        return PYTHON[sign](1.0 if isinstance(left, torch.SymFloat) else 1, right)  # which raises
    if sign in RECORDED and _is_recorded(left, right):
        return _record(session, left, sign, right)
    if sign in BITWISE and _is_bitwise(left, sign, right):
        return number_op(session, BITWISE[sign], "int", left, right)
    return _python(session, left, sign, right)


def _python(session: Session, left: object, sign: str, right: object) -> Staged:
    if isinstance(left, KnownArray) or isinstance(right, KnownArray):
        done = compute_known(session, PYTHON[sign], left, right)
        if done is not NOT_KNOWN:
            return done
    left, right = beside_tensor(session, left, right)
    return PYTHON[sign](_beside(left, right), _beside(right, left))


def _beside(value: Any, other: object) -> Any:
    """A number of numpy's next to a captured value is a plain one."""
    captured = isinstance(other, torch.Tensor | Number | CapturedArray)
    return value.item() if captured and isinstance(value, numpy.generic) else value


def _truth_values(session: Session, left: object, sign: str, right: object) -> Staged:
    """A captured truth value in arithmetic."""
    truths = all(isinstance(one, torch.SymBool | bool) for one in (left, right))
    if truths and sign in "&|":
        return PYTHON[sign](left, right)
    if truths and sign == "^":
        return number_op(session, "ne", "bool", left, right)
    if isinstance(left, torch.Tensor) or isinstance(right, torch.Tensor):
        either = [
            as_union(session.recorder, one) if isinstance(one, torch.SymBool) else one
            for one in (left, right)
        ]
        return arithmetic(session, either[0], sign, either[1])
    left, right = (
        to_int(session.recorder, x) if isinstance(x, torch.SymBool) else x for x in (left, right)
    )
    return arithmetic(session, left, sign, right)


def _is_recorded(left: object, right: object) -> bool:
    """Two numbers, of which the right one is captured or negative, or one is a float."""
    if not all(isinstance(x, Number | bool | int | float) for x in (left, right)):
        return False
    is_captured = isinstance(right, Number) or isinstance(left, torch.SymFloat)
    return is_captured or isinstance(right, float) or (isinstance(right, int) and right < 0)


def _record(session: Session, left: object, sign: str, right: object) -> Staged:
    kinds = (kind_of_number(left), kind_of_number(right))
    kind: Any = "float" if "float" in kinds else "int"
    if sign == "**" and kind == "int":
        return _whole_power(session, left, right)
    if sign == "**" and kind == "float":
        return _float_power(session, left, right)
    return number_op(session, RECORDED[sign], kind, left, right)


def _whole_power(session: Session, left: object, right: Staged) -> Staged:
    """An int to a power: a float where the power is negative."""
    return choose(
        session.recorder,
        right < 0,
        lambda: number_op(session, "pow", "float", left, right),
        lambda: number_op(session, "pow", "int", left, right),
    )


def _float_power(session: Session, left: Staged, right: object) -> Staged:
    """A float, but for a negative number to a power that is not whole, which is complex.

    Infinity, as the number or as the power, gives a float.
    """
    if isinstance(right, int | torch.SymInt) or (isinstance(right, float) and right.is_integer()):
        return number_op(session, "pow", "float", left, right)
    whole = number_op(session, "eq", "bool", number_op(session, "mod", "float", right, 1.0), 0.0)
    negative = both(left < 0, torch.sym_not(whole))
    for one in (left, right):
        negative = both(negative, _is_finite(session, one))
    return choose(
        session.recorder,
        negative,
        lambda: number_op(session, "pow", "complex", left, right),
        lambda: number_op(session, "pow", "float", left, right),
    )


def _is_finite(session: Session, number: Staged) -> Staged:
    if isinstance(number, torch.SymFloat):
        return number_op(session, "isfinite", "bool", number)
    return not isinstance(number, float) or math.isfinite(number)


def _is_bitwise(left: object, sign: str, right: object) -> bool:
    """Two whole numbers, one of them captured; torch itself shifts by a number that is known."""
    if not all(isinstance(x, torch.SymInt | int) for x in (left, right)):
        return False
    return not (sign in ("<<", ">>") and isinstance(right, int) and right >= 0)


@over_unions("value")
def unary(session: Session, sign: str, value: object) -> Staged:
    """`-value`, `+value` or `~value`."""
    value = used_array(session, value)
    if isinstance(value, torch.SymBool):
        value = to_int(session.recorder, value)
    if sign == "~" and isinstance(value, torch.SymInt):
        return number_op(session, "invert", "int", value)
    if sign == "+" and isinstance(value, torch.SymInt | torch.SymFloat):
        return value
    if sign == "-" and isinstance(value, CapturedComplex):
        return number_op(session, "neg", "complex", value)
    if isinstance(value, KnownArray):
        done = compute_known(session, UNARY[sign], value)
        if done is not NOT_KNOWN:
            return done
    if sign in counters.UNARY and isinstance(value, counters.COUNTERS):
        return counters.signed(session, sign, value)
    method = user_method(value, f"__{UNARY[sign].__name__}__")
    return UNARY[sign](value) if method is None else session.interpreter.call_method(method, value)


NO_REPETITION = "can't multiply sequence by non-int of type '{}'"


def _lists(session: Session, left: Staged, sign: str, right: Staged) -> Staged:
    """`+` and `*` of lists, whose lengths or numbers may be captured."""
    recorder = session.recorder
    if sign == "+" and (is_captured(left) or is_captured(right)):
        names = ["tuple" if is_tuple(one) else python_name(one) for one in (left, right)]
        if names[0] != names[1]:
            raise TypeError(f'can only concatenate {names[0]} (not "{names[1]}") to {names[0]}')
        return list_of(concatenated(recorder, left, right))
    if sign == "*":
        items, times = (left, right) if isinstance(left, list) else (right, left)
        times = index(session.recorder, times, NO_REPETITION)
        if is_captured(items) or isinstance(times, torch.SymInt):
            return repeated(recorder, items, times)
        return StagedList(list(items) * times)
    result = PYTHON[sign](left, right)
    return StagedList(result) if type(result) is list else result


def _texts(session: Session, left: object, sign: str, right: object) -> Staged:
    if (
        sign == "+"
        and isinstance(left, str | CapturedText)
        and isinstance(right, str | CapturedText)
    ):
        return fstring(session, left, right)
    if sign == "*" and not isinstance(right, str | CapturedText):
        return _repeated_text(session, left, right)
    if sign == "%" and isinstance(left, str) and is_text_of_run(session, right):
        return percent_format(session, left, right)
    if isinstance(left, CapturedText):
        if sign == "%":  # what it takes is in the string
            raise needs_a_value("a string made from captured values")
        return PYTHON[sign](_plain_text(left, right), _plain_text(right, left))
    with watched(session, sign):  # `%` makes text of objects, perhaps by methods of the user's
        return PYTHON[sign](left, right)


def _plain_text(value: object, other: object) -> Any:
    """A string for a captured one next to `other`, where Python only has an error for the two."""
    plain = isinstance(other, CapturedText) or type(other).__module__ == "builtins"
    return "" if plain and isinstance(value, CapturedText) else value


def _repeated_text(session: Session, text: Staged, times: Staged) -> Staged:
    if not isinstance(times, torch.Tensor | Number) and not hasattr(times, "__index__"):
        return "" * times  # Python's error
    times = index(session.recorder, times, NO_REPETITION)
    if isinstance(text, CapturedText) or isinstance(times, Number):
        text = as_captured(session.recorder, text)
        return session.interpreter.run(definitions.repeat_text, text, times)
    return text * times
