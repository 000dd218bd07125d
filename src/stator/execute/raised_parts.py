"""complete(): a builtin exception, with what the fields of a raise say in plain data.

Their names are those of `program/raise_fields.py`; `capture/raised_parts.py` writes them.
"""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Mapping

from stator.program.raise_fields import (
    CAUGHT,
    CHAIN,
    CLASS,
    IS_CAUSE,
    MEMBER,
    SUPPRESSED,
    is_attribute,
)
from stator.values.exceptions import CaughtCause

NAMED = (CLASS, SUPPRESSED, IS_CAUSE)


def builtin_exception(class_name: str, args: tuple[object, ...]) -> Exception:
    """An instance of the builtin class; a RuntimeError that names the class where there is none."""
    found = getattr(builtins, class_name, None)
    if isinstance(found, type) and issubclass(found, Exception):
        with contextlib.suppress(TypeError, ValueError):  # some need more than a message
            return found(*args)
    return RuntimeError(": ".join([class_name, *map(str, args)]))


def complete(error: BaseException, fields: Mapping[str, object]) -> None:
    """Give `error` its members, its cause and its context, as far as `fields` says them."""
    for name, value in fields.items():
        if name.startswith(MEMBER) and name not in NAMED:
            with contextlib.suppress(AttributeError, TypeError):  # a file may say anything
                setattr(error, name.removeprefix(MEMBER), value)
    cause, context = _below(fields, "cause"), _below(fields, "context")
    if cause:
        error.__cause__ = _made(cause)
    if context:
        error.__context__ = error.__cause__ if context.get(IS_CAUSE) else _made(context)
    if SUPPRESSED in fields:
        error.__suppress_context__ = bool(fields[SUPPRESSED])


def _below(fields: Mapping[str, object], link: str) -> dict[str, object]:
    """What the fields say of the exception that is the `link` of this one."""
    prefix = f"{link}{CHAIN}"
    return {
        name.removeprefix(prefix): value
        for name, value in fields.items()
        if name.startswith(prefix)
    }


def _made(fields: Mapping[str, object]) -> BaseException:
    if fields.get(CLASS) == CAUGHT:
        return CaughtCause()
    args = tuple(value for name, value in fields.items() if name.isdigit())
    error = builtin_exception(str(fields.get(CLASS)), args)
    own = {name: value for name, value in fields.items() if is_attribute(name)}
    vars(error).update({name: value for name, value in own.items() if not name.isdigit()})
    complete(error, fields)
    return error
