"""What a raise of the program is given of an exception: plain values, and names of classes.

raise Wrong("no") from KeyError("k")
->  stator::raise('ValueError', 'no', 'KeyError', 'k', True, names=['m.Wrong'],
fields=['cause:=class', 'cause:0', '=suppressed'])
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator

from stator.capture.errors.capture_artifacts import users_text
from stator.capture.recorder import Recorder
from stator.program.ir import Arg
from stator.program.raise_fields import CAUGHT, CHAIN, CLASS, IS_CAUSE, MEMBER, SUPPRESSED
from stator.values.exceptions import CaughtCause, ExceptionParts
from stator.values.symbolic import CapturedText
from stator.values.union import Symbolic, Union

DEEPEST = 20  # of a chain of causes that a saved model keeps


def plain_parts(recorder: Recorder, error: BaseException) -> dict[str, Arg]:
    """What plain data can say of the members of `error`, of its cause and of its context."""
    parts = recorder.exceptions.parts_of(error)
    return dict(_members(recorder, parts)) | dict(_chain(recorder, parts, "", DEEPEST))


def _members(recorder: Recorder, parts: ExceptionParts) -> Iterator[tuple[str, Arg]]:
    for name, value in parts.members.items():
        if is_plain_value(value):
            yield f"{MEMBER}{name}", exception_arg(recorder, value)


def _chain(
    recorder: Recorder, parts: ExceptionParts, prefix: str, deepest: int
) -> Iterator[tuple[str, Arg]]:
    if parts.suppresses:
        yield f"{prefix}{SUPPRESSED}", True
    is_one = parts.cause is not None and parts.cause is parts.context
    if is_one:
        yield f"{prefix}context{CHAIN}{IS_CAUSE}", True
    others = {"cause": parts.cause, "context": None if is_one else parts.context}
    for link, other in others.items():
        if other is not None and deepest:
            yield from _whole(recorder, other, f"{prefix}{link}{CHAIN}", deepest - 1)


def _whole(
    recorder: Recorder, error: BaseException, prefix: str, deepest: int
) -> Iterator[tuple[str, Arg]]:
    if isinstance(error, CaughtCause):
        yield f"{prefix}{CLASS}", CAUGHT
        return
    parts = recorder.exceptions.parts_of(error)
    yield f"{prefix}{CLASS}", class_names(type(error))[0]
    given = {str(k): arg for k, arg in enumerate(parts.args)} | dict(parts.fields)
    for name, value in given.items():
        if name.isdigit() or is_plain_value(value):
            yield f"{prefix}{name}", exception_arg(recorder, value)
    for name, member in _members(recorder, parts):
        yield f"{prefix}{name}", member
    yield from _chain(recorder, parts, prefix, deepest)


def is_plain_value(value: object) -> bool:
    """Can an op be given `value`?"""
    return is_recordable(value) and not isinstance(value, Union)


def exception_arg(recorder: Recorder, value: object) -> Arg:
    """The program's form of an argument of an exception."""
    if isinstance(value, CapturedText):
        return value.value
    if isinstance(value, str):
        return users_text(value)
    return recorder.arg(value) if is_recordable(value) else str(value)


def is_recordable(value: object) -> bool:
    """Can an op be given `value`, or each of its alternatives?"""
    return isinstance(value, Symbolic | bool | int | float | complex | str | None)


def class_names(cls: type) -> tuple[str, tuple[str, ...]]:
    """The builtin class that `cls` is, and the names of the classes before it that users wrote."""
    written: list[str] = []
    for base in cls.__mro__:
        if getattr(builtins, base.__name__, None) is base:
            return base.__name__, tuple(written)
        written.append(f"{base.__module__}.{base.__qualname__}")
    return "Exception", tuple(written)
