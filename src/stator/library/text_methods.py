"""Methods of strings that only a run knows, or that are given such strings.

Ops of the program take a string apart; other methods are written out with these
(`text_definitions`). What is neither is refused.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from stator.capture.conditions import negated, refuse_if
from stator.capture.conversions import index
from stator.capture.text_ops import as_captured, number_of_text, operand, text_op
from stator.errors import UnsupportedCall
from stator.library import text_definitions as written
from stator.library.format_fields import formatted
from stator.library.text import fstring
from stator.program.ir import Arg
from stator.program.opset.stator_ops import QUESTIONS
from stator.state.session import Session
from stator.values.annotations import Args, Keywords, Staged
from stator.values.symbolic import CapturedText, Number, StandIn
from stator.values.union import Union, distribute, first_union

DEFINED: dict[str, Callable[..., Any]] = {
    one.__name__: one
    for one in (
        written.zfill, written.rjust, written.ljust, written.center, written.index,
        written.rindex, written.count, written.startswith, written.endswith, written.lstrip,
        written.rstrip, written.strip, written.split, written.replace, written.removeprefix,
        written.removesuffix, written.partition, written.rpartition, written.join,
        written.rsplit, written.splitlines, written.capitalize, written.casefold,
        written.swapcase, written.title,
    )
}  # fmt: skip
ONLY_ASCII = frozenset({"capitalize", "casefold", "swapcase", "title"})  # the other letters differ
NO_BOUND = "slice indices must be integers or None or have an __index__ method"


@dataclass(frozen=True)
class TextMethod(StandIn):
    """A method of a data-dependent string."""

    text: CapturedText
    name: str


def is_method_of_str(function: object) -> bool:
    """Is this a method of the class itself, such as `str.upper`?"""
    return isinstance(function, types.MethodDescriptorType) and function.__objclass__ is str


def call_text_method(
    session: Session, owner: Staged, name: str, /, *args: Staged, **kwargs: Staged
) -> Staged:
    """`owner.name(*args, **kwargs)`, such as `", ".join(captured)`."""
    if name == "join" and _are_known_parts(*args):
        return _joined(session, owner, args[0])
    if first_union((args, kwargs)) is not None:
        return distribute(
            lambda *a, **k: call_text_method(session, owner, name, *a, **k), args, kwargs
        )
    if name == "format" and isinstance(owner, str):
        return formatted(session, owner, args, kwargs)
    _check_arguments(name, args, kwargs)
    if name in QUESTIONS:
        return number_of_text(session.recorder, "text_is", "bool", operand(owner), name)
    if name in ("upper", "lower"):
        return text_op(session.recorder, "text_case", operand(owner), name)
    if name in ("find", "rfind"):
        return _find(session, owner, name, args)
    if name not in DEFINED:
        raise UnsupportedCall(
            f"`str.{name}` of captured values is not supported",
            fix="use an f-string, slices, or methods such as `find` and `split`",
        )
    if name in ONLY_ASCII:
        _demand_ascii(session, owner, name)
    text = as_captured(session.recorder, owner)
    return session.interpreter.run(DEFINED[name], text, *args, **kwargs)


def _is_open(items: Staged) -> bool:
    return bool(getattr(items, "is_open", False))


def _check_arguments(name: str, args: Args, kwargs: Keywords) -> None:
    """Python's TypeError for what the method does not take; values are not looked at."""
    try:
        getattr("", name)(
            *map(_example, args), **{key: _example(one) for key, one in kwargs.items()}
        )
    except (ValueError, LookupError):
        return


def _example(value: object) -> object:
    """A value of the type that Python would be given."""
    if isinstance(value, CapturedText):
        return " "
    if isinstance(value, torch.SymFloat):
        return 0.0
    if isinstance(value, Number | torch.Tensor):
        return 0
    if isinstance(value, tuple):
        return tuple(map(_example, value))
    return value if isinstance(value, str | int | float | bytes | None) else ()


def _demand_ascii(session: Session, text: Staged, name: str) -> None:
    """A run of the program is refused where `text` has letters that are not of ASCII."""
    is_ascii = call_text_method(session, text, "isascii")
    why = f"`str.{name}` of a string with letters that are not ASCII is not supported"
    refuse_if(session.recorder, negated(is_ascii), why)


def _find(session: Session, owner: Staged, name: str, args: Args) -> Staged:
    part, *bounds = args
    given: list[Arg] = [_bound(session, one) for one in bounds]
    if name == "rfind":
        given += [None] * (2 - len(given)) + [True]
    return number_of_text(
        session.recorder, "text_find", "int", operand(owner), operand(part), *given
    )


def _bound(session: Session, bound: object) -> Arg:
    found = index(session.recorder, bound, NO_BOUND)
    return None if found is None else session.recorder.arg(found)


def _are_known_parts(*args: Staged) -> bool:
    """Is it one sequence, with a known number of items?"""
    return len(args) == 1 and isinstance(args[0], list | tuple) and not _is_open(args[0])


def _joined(session: Session, owner: Staged, items: Staged) -> Staged:
    """`owner.join(items)` of a known number of items."""
    items = [_as_one_text(session, item) for item in items]
    at = next((k for k, item in enumerate(items) if isinstance(item, Union)), None)
    if at is not None:
        before, after = items[:at], items[at + 1 :]
        return session.recorder.apply(
            items[at], lambda one: _joined(session, owner, [*before, one, *after])
        )
    for place, item in enumerate(items):
        if not isinstance(item, str | CapturedText):
            name = session.interpreter.call(type, item).__name__
            raise TypeError(f"sequence item {place}: expected str instance, {name} found")
    return fstring(session, *[part for item in items for part in (owner, item)][1:])


def _as_one_text(session: Session, item: Staged) -> Staged:
    """One of several strings as a string of the run; any other value as it is."""
    if not isinstance(item, Union):
        return item
    if not all(isinstance(one, str | CapturedText) for one in item.alternatives):
        return item
    return session.recorder.apply(item, lambda one: as_captured(session.recorder, one))


def has_part(session: Session, text: Staged, part: Staged) -> Staged:
    """`part in text`."""
    if not isinstance(part, str | CapturedText):
        name = session.interpreter.call(type, part).__name__
        raise TypeError(f"'in <string>' requires string as left operand, not {name}")
    return _find(session, text, "find", (part,)) >= 0


def text_attribute(text: CapturedText, name: str) -> Staged:
    """`text.name`: a method of strings, or Python's AttributeError."""
    of_strings = getattr("", name)
    return TextMethod(text, name) if callable(of_strings) else of_strings
