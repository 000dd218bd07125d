"""Builtins between strings and numbers: `chr`, `ord`, `hex`, `int(text)`, `float(text)`."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import torch

from stator.capture.conditions import raise_if
from stator.capture.conversions import NO_INTEGER, index
from stator.capture.numbers import either
from stator.capture.text_ops import number_of_text, operand
from stator.library.text import format_value
from stator.state.session import Session
from stator.values.annotations import Staged
from stator.values.symbolic import CapturedText
from stator.values.union import over_unions

BASES: dict[Any, str] = {hex: "#x", oct: "#o", bin: "#b"}


def handlers(session: Session) -> dict[Any, Callable[..., Staged]]:
    """What handles each of these functions."""
    return {
        chr: functools.partial(character_of, session),
        ord: functools.partial(code_of, session),
        **{function: functools.partial(in_base, session, function) for function in BASES},
    }


@over_unions("number")
def in_base(session: Session, function: Staged, number: Staged) -> Staged:
    """`hex`, `oct` or `bin`, which are formats of an int."""
    if not isinstance(number, torch.SymInt):
        return function(number)
    return format_value(session, number, None, BASES[function])


@over_unions("number")
def character_of(session: Session, number: Staged) -> Staged:
    """`chr(number)`."""
    if not isinstance(number, torch.SymInt):
        return chr(number)
    outside = either(number < 0, number >= 0x110000)
    raise_if(session.recorder, outside, ValueError("chr() arg not in range(0x110000)"))
    return format_value(session, number, None, "c")


@over_unions("text")
def code_of(session: Session, text: Staged) -> Staged:
    """`ord(text)`."""
    if not isinstance(text, CapturedText):
        return ord(text)
    return number_of_text(session.recorder, "text_code", "int", text.value)


@over_unions("text", "base")
def text_to_int(session: Session, text: Staged, base: Staged = 10) -> Staged:
    """`int(text, base)`."""
    if not isinstance(text, str | CapturedText):
        raise TypeError("int() can't convert non-string with explicit base")
    base = index(session.recorder, base, NO_INTEGER)
    if not isinstance(base, torch.SymInt):
        base = operator.index(base)
        if isinstance(text, str):
            return int(text, base)
    given = () if isinstance(base, int) and base == 10 else (session.recorder.arg(base),)
    return number_of_text(session.recorder, "text_int", "int", operand(text), *given)


def text_to_float(session: Session, text: CapturedText) -> Staged:
    """`float(text)`."""
    return number_of_text(session.recorder, "text_float", "float", text.value)
