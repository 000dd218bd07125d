"""`//` and `%`: where they can fail or round, they are recorded as what they are.

torch makes `a // b` of symbolic floats into a division and a floor, which rounds otherwise than
Python; and a division by a captured zero must raise where it stands, used or not.
"""

from __future__ import annotations

import operator
from typing import Any

import torch

from stator.capture.numbers import Number, kind_of_number
from stator.capture.values import CapturedText, Variant, distribute
from stator.staging.session import Session
from stator.staging.text import is_text_symbolic
from stator.staging.truth import to_int

PYTHON = {"//": operator.floordiv, "%": operator.mod}
NAMES = {"//": "stator::floordiv", "%": "stator::mod"}


def arithmetic(session: Session, left: Any, sign: str, right: Any) -> Any:
    """`left // right` or `left % right`."""
    if isinstance(left, Variant) or isinstance(right, Variant):
        return distribute(lambda a, b: arithmetic(session, a, sign, b), (left, right), {})
    if isinstance(left, str | CapturedText):
        return _format(session, left, right)
    if not _is_recorded(left, right):
        return PYTHON[sign](left, right)
    recorder = session.recorder
    left, right = (
        to_int(recorder, x) if isinstance(x, torch.SymBool) else x for x in (left, right)
    )
    kind: Any = "float" if "float" in (kind_of_number(left), kind_of_number(right)) else "int"
    value = recorder.emit_number(NAMES[sign], (recorder.arg(left), recorder.arg(right)), kind)
    return recorder.number(kind, value)


def _is_recorded(left: Any, right: Any) -> bool:
    """Two numbers, of which the divisor may be zero or one is a float."""
    if not all(isinstance(x, Number | bool | int | float) for x in (left, right)):
        return False
    if not (isinstance(left, Number) or isinstance(right, Number)):
        return False
    return isinstance(right, Number | bool | float) or isinstance(
        left, torch.SymFloat | torch.SymBool
    )


def _format(session: Session, text: Any, values: Any) -> Any:
    """`"%d of %d" % values`, with captured values in it."""
    given = values if isinstance(values, tuple) else (values,)
    if isinstance(text, CapturedText) or any(is_text_symbolic(value) for value in given):
        return session.call(str.__mod__, text, values)
    return text % values
