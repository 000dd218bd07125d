"""Arithmetic of converted code: torch's own, but for what Python numbers, lists and strings need.

A captured truth value counts as 0 or 1; `//`, `%` and `**` of captured numbers are recorded as what
they are (torch would make `a // b` of floats into a division and a floor, which rounds otherwise,
and a division by a captured zero must raise where it stands, used or not); a list is repeated, and
text put together, by the program.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch

from stator.capture.carry import list_of
from stator.capture.numbers import Number, kind_of_number
from stator.capture.places import current_place
from stator.capture.values import CapturedText, StagedList, Variant, distribute
from stator.errors import UnsupportedCall
from stator.staging.lists import concatenated, is_captured, repeated
from stator.staging.protocols import user_method
from stator.staging.session import Session
from stator.staging.text import fstring, is_text_symbolic
from stator.staging.truth import to_int

PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "@": operator.matmul,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift,
    ">>": operator.rshift,
}  # fmt: skip
RECORDED = {"//": "stator::floordiv", "%": "stator::mod", "**": "stator::pow"}
PLAIN = (torch.Tensor, int, float, complex)


def arithmetic(session: Session, left: Any, sign: str, right: Any) -> Any:
    """`left SIGN right`."""
    if isinstance(left, PLAIN) and isinstance(right, PLAIN):
        return PYTHON[sign](left, right)
    if isinstance(left, Variant) or isinstance(right, Variant):
        return distribute(lambda a, b: arithmetic(session, a, sign, b), (left, right), {})
    if isinstance(left, list) or isinstance(right, list):
        return _lists(session, session.seen(left), sign, session.seen(right))
    if isinstance(left, str | CapturedText) or isinstance(right, CapturedText):
        return _texts(session, left, sign, right)
    if isinstance(left, torch.SymBool) or isinstance(right, torch.SymBool):
        return _truth_values(session, left, sign, right)
    if sign in RECORDED and _is_recorded(left, right):
        return _record(session, left, sign, right)
    method = user_method(left, f"__{PYTHON[sign].__name__.rstrip('_')}__")
    if method is not None:
        return session.call(method, left, right)
    return PYTHON[sign](left, right)


def _truth_values(session: Session, left: Any, sign: str, right: Any) -> Any:
    """A captured truth value in arithmetic."""
    both = all(isinstance(one, torch.SymBool | bool) for one in (left, right))
    if both and sign in "&|":
        return PYTHON[sign](left, right)
    if isinstance(left, torch.Tensor) or isinstance(right, torch.Tensor):
        either = [
            session.either(one) if isinstance(one, torch.SymBool) else one for one in (left, right)
        ]
        return arithmetic(session, either[0], sign, either[1])
    left, right = (
        to_int(session.recorder, x) if isinstance(x, torch.SymBool) else x for x in (left, right)
    )
    return arithmetic(session, left, sign, right)


def _is_recorded(left: Any, right: Any) -> bool:
    """Two numbers, of which the right one is captured, or one is a float."""
    if not all(isinstance(x, Number | bool | int | float) for x in (left, right)):
        return False
    return isinstance(right, Number) or isinstance(left, torch.SymFloat) or isinstance(right, float)


def _record(session: Session, left: Any, sign: str, right: Any) -> Any:
    recorder = session.recorder
    kinds = (kind_of_number(left), kind_of_number(right))
    kind: Any = "float" if "float" in kinds else "int"
    if sign == "**" and kind == "int" and isinstance(right, torch.SymInt):
        session.refuse_if(right < 0, "an int to a negative power is a float, and only a run knows")
    value = recorder.emit_number(RECORDED[sign], (recorder.arg(left), recorder.arg(right)), kind)
    return recorder.number(kind, value)


def _lists(session: Session, left: Any, sign: str, right: Any) -> Any:
    """`+` and `*` of lists, whose lengths or numbers may be captured."""
    recorder = session.recorder
    if sign == "+" and (is_captured(left) or is_captured(right)):
        return list_of(concatenated(recorder, left, right))
    if sign == "*":
        items, times = (left, right) if isinstance(left, list) else (right, left)
        times = session.index(times)
        if is_captured(items) or isinstance(times, torch.SymInt):
            return list_of(repeated(recorder, items, times))
        return StagedList(list(items) * times)
    result = PYTHON[sign](left, right)
    return StagedList(result) if type(result) is list else result


def _texts(session: Session, left: Any, sign: str, right: Any) -> Any:
    if (
        sign == "+"
        and isinstance(left, str | CapturedText)
        and isinstance(right, str | CapturedText)
    ):
        return fstring(session, left, right)
    values = right if isinstance(right, tuple) else (right,)
    if sign == "%" and any(is_text_symbolic(value) for value in values):
        raise UnsupportedCall("`%` formats captured values", at=current_place(),
                              fix="use an f-string")  # fmt: skip
    return PYTHON[sign](left, right)
