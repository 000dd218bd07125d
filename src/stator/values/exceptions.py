"""Exceptions as data: what an exception consists of, and one that is made of such parts.

    error = KeyError("k"); error.code = 3; raise error from other
    ->  (("k",), {"code": 3}, {}, other, None, True, ())

Its traceback is no part of it.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar, cast

from stator.program.structure import Structure

NOTES = "__notes__"
CAUSE, CONTEXT, SUPPRESSES = "__cause__", "__context__", "__suppress_context__"
IS_CAUSE = "the cause"  # in place of a context that is the cause too
NOTHING: Mapping[str, Any] = types.MappingProxyType({})
# `AttributeError.obj` may be anything: what leaves a program has it where there is a form for it
LEFT_OUT = frozenset({"__suppress_context__", "obj"})


ErrorT = TypeVar("ErrorT", bound=BaseException)


class ExceptionParts(NamedTuple):
    """What an exception consists of, but for its class and its traceback."""

    args: tuple[object, ...]
    fields: Mapping[str, object]  # attributes that Python code has set
    members: Mapping[str, object] = NOTHING  # slots, and what builtin classes keep: `errno`
    cause: BaseException | None = None
    context: BaseException | None = None
    suppresses: bool = False
    notes: Any = ()


@dataclass(frozen=True, slots=True)
class KnownExceptions:
    """What the process that captured a program knows of the exceptions that it raises."""

    classes: Mapping[str, type] = field(default_factory=dict)  # that users wrote
    forms: Sequence[Structure] = ()  # of whole exceptions
    records: Mapping[str, type] = field(default_factory=dict)  # classes of records in the forms


NO_EXCEPTIONS = KnownExceptions()


class CaughtCause(Exception):
    """Represents the exception that a recorded handler has caught, as the cause of another."""


def parts_of(error: BaseException, context: BaseException | None) -> ExceptionParts:
    """The parts of `error`, with `context` as what was being handled when it was raised."""
    fields = {name: value for name, value in vars(error).items() if name != NOTES}
    return ExceptionParts(
        error.args, fields, members_of(error), error.__cause__, context,
        error.__suppress_context__, vars(error).get(NOTES, ()),
    )  # fmt: skip


def members_of(error: BaseException) -> dict[str, object]:
    """What `error` keeps in slots, or where its builtin class keeps it."""
    names = (name for cls in type(error).__mro__ for name in _members(cls))
    found = ((name, getattr(error, name, None)) for name in names)
    return {name: value for name, value in found if value is not None}


def _members(cls: type) -> Iterator[str]:
    for name, descriptor in vars(cls).items():
        if isinstance(descriptor, types.MemberDescriptorType) and name not in LEFT_OUT:
            yield descriptor.__name__


def is_kept_inside(error: BaseException, name: str) -> bool:
    """Does the builtin class of `error` keep the attribute `name`, outside of its `__dict__`?"""
    owner = next((cls for cls in type(error).__mro__ if name in vars(cls)), None)
    return owner is not None and owner.__module__ == "builtins"


def builtin_base(cls: type) -> Any:
    """The class next to `cls`, or itself, that Python's own C code defines."""
    return next(base for base in cls.__mro__ if base.__module__ == "builtins")


def exception_of(cls: type, parts: tuple[Any, ...]) -> BaseException:
    """An instance of `cls` with these parts; constructors of users do not run again."""
    given = ExceptionParts(*parts)
    base = builtin_base(cls)
    error: BaseException = base.__new__(cls, *given.args)
    _set_members(error, given.members)
    error.args = given.args
    vars(error).update(given.fields)
    error.__cause__, error.__context__ = given.cause, given.context
    error.__suppress_context__ = given.suppresses
    if given.notes:
        error.__notes__ = list(given.notes)
    return error


def copy_of(error: ErrorT) -> ErrorT:
    """Another exception like `error`, raised in the same place."""
    made: Any = exception_of(type(error), parts_of(error, error.__context__))
    return cast(ErrorT, made.with_traceback(error.__traceback__))


def entries_of(error: BaseException) -> tuple[tuple[int | str, ...], tuple[Any, ...]]:
    """The keys and the items of an exception that code of the program holds: what it consists of.

    Its arguments have numbers, so that exceptions with more or fewer of them are of other kinds;
    so are those with a cause of another class.
    """
    parts = parts_of(error, error.__context__)
    found: dict[int | str, Any] = dict(enumerate(parts.args))
    found.update(parts.members.items())
    found.update(parts.fields.items())
    is_one = parts.cause is not None and parts.cause is parts.context
    context = IS_CAUSE if is_one else parts.context
    for name, other in ((CAUSE, parts.cause), (CONTEXT, context)):
        if other is not None:
            found[f"{name} {type(other).__name__}"] = other
    if parts.suppresses:
        found[SUPPRESSES] = True
    if parts.notes:
        found[NOTES] = tuple(parts.notes)
    return tuple(found), tuple(found.values())


def exception_of_items(cls: type, keys: Sequence[object], items: Sequence[object]) -> BaseException:
    """An instance of `cls` that has these items under `keys`."""
    entries: dict[Any, Any] = dict(zip(keys, items, strict=True))
    args = tuple(value for key, value in entries.items() if isinstance(key, int))
    named = {key: value for key, value in entries.items() if isinstance(key, str)}
    cause, context = (_popped(named, name) for name in (CAUSE, CONTEXT))
    context = cause if isinstance(context, str) else context
    suppresses, notes = named.pop(SUPPRESSES, False), named.pop(NOTES, ())
    own = {key for base in cls.__mro__ for key in _members(base)}
    members = {key: value for key, value in named.items() if key in own}
    fields = {key: value for key, value in named.items() if key not in own}
    return exception_of(
        cls, ExceptionParts(args, fields, members, cause, context, suppresses, notes)
    )


def _popped(named: dict[str, Any], name: str) -> Any:
    found = next((key for key in named if key.startswith(name)), None)
    return None if found is None else named.pop(found)


def add_note(error: BaseException, note: str) -> None:
    """`error.add_note(note)`, with another list: what a branch changes is what `error` holds."""
    error.__notes__ = [*getattr(error, NOTES, ()), note]


def _set_members(error: BaseException, members: Mapping[str, object]) -> None:
    for name, value in members.items():
        if getattr(error, name, None) is not value:
            with contextlib.suppress(AttributeError):  # it is made of the arguments
                setattr(error, name, value)


def adopt(error: BaseException, made: BaseException) -> None:
    """Give `error`, which keeps its traceback and its notes, what `made` consists of."""
    if error is made:
        return
    error.args = made.args
    vars(error).update(vars(made))
    _set_members(error, members_of(made))
    if isinstance(error, AttributeError) and isinstance(made, AttributeError):
        error.obj = made.obj  # not what represents it during a capture
    chain = [(error.__cause__, made.__cause__), (error.__context__, made.__context__)]
    for old, new in chain:
        if old is not None and type(old) is type(new):
            adopt(old, new)
    cause, context = (old if type(old) is type(new) else new for old, new in chain)
    error.__cause__, error.__context__ = cause, context
    error.__suppress_context__ = made.__suppress_context__


def link(error: BaseException, caught: BaseException | None) -> None:
    """`error` was raised while a run was handling `caught`."""
    if caught is None or caught is error:
        return
    last, seen = error, {id(error)}
    while True:
        if isinstance(last.__cause__, CaughtCause):
            last.__cause__ = caught
        if last.__context__ is None or id(last.__context__) in seen:
            break
        last = last.__context__
        seen.add(id(last))
        if last is caught:
            return
    last.__context__ = caught
