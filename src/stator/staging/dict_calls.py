"""Dicts: methods, captured keys, and keys that only some paths have set.

A key that may be absent is kept in the dict, with a value that may be undefined. What looks at one
key looks at that value; what looks at the whole dict is done for each way the dict may be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stator.capture.branches import defined
from stator.capture.numbers import Number
from stator.capture.places import current_place
from stator.capture.values import (
    CapturedText,
    StagedDefaultDict,
    StagedDict,
    StagedList,
    Undefined,
    Variant,
    distribute,
    first_variant,
    is_table,
)
from stator.errors import UnsupportedCall
from stator.staging import tables
from stator.staging.partial import for_each_way, is_partial, maybe_absent
from stator.staging.session import Session

MISSING = object()
Table = dict[Any, Any]


def call_dict_method(
    session: Session, owner: Any, name: str, method: Any, args: Any, kwargs: Any
) -> Any:
    """`owner.name(*args, **kwargs)`."""
    if first_variant(args[:1]) is not None and name in KEYED:
        return distribute(
            lambda key: call_dict_method(session, owner, name, method, (key, *args[1:]), kwargs),
            args[:1], {},
        )  # fmt: skip
    if name == "update" and any(map(is_table, args)) and tables.can_become_table(owner):
        return tables.call_table_method(session, owner, name, args, kwargs)
    if is_table(owner) or (
        args and name in KEYED and is_captured_key(args[0]) and tables.can_become_table(owner)
        and (name in ("pop", "setdefault") or is_partial(owner))
    ):  # fmt: skip
        return tables.call_table_method(session, owner, name, args, kwargs)
    session.note(owner)
    if name in KEYED and is_captured_key(args[0]):
        return _by_captured_key(session, owner, name, *args)
    if name in METHODS and (type(owner) is dict or isinstance(owner, StagedDict)):
        return METHODS[name](session, owner, *args, **kwargs)
    if name in VIEWS and is_partial(owner):
        return for_each_way(session, owner, lambda whole: StagedList(getattr(dict, name)(whole)))
    if is_partial(owner) and name not in ("clear",):
        raise UnsupportedCall(
            f"`{name}` of a dict with a key that only some paths have set", at=current_place(),
            fix="set the key on every path, or use `key in d` and `d[key]`",
        )  # fmt: skip
    return method(*args, **kwargs)


def is_captured_key(key: Any) -> bool:
    """A key whose hash only a run knows."""
    return isinstance(key, Number | CapturedText)


def _by_captured_key(session: Session, owner: Table, name: str, key: Any, *default: Any) -> Any:
    if name == "get":
        return lookup(session, owner, key, *(default or (None,)))
    if name == "__getitem__":
        return lookup(session, owner, key)
    raise refused_key(owner, f"`{name}` with")


def refused_key(owner: Any, what: str) -> UnsupportedCall:
    """A captured key where a dict needs its hash."""
    return UnsupportedCall(
        f"{what} a captured key of a {'dict' if isinstance(owner, dict) else type(owner).__name__}",
        at=current_place(), fix="use a tensor or a list",
    )  # fmt: skip


def lookup(session: Session, table: Any, key: Any, default: Any = MISSING) -> Any:
    """`table[key]` for a captured key: one of the values, the default, or KeyError."""
    keys = [one for one in table if isinstance(one, str) == isinstance(key, CapturedText)]
    position: Any = len(keys)
    for place, one in enumerate(keys):
        position = session.select(session.compare(key, "==", one), place, position)
    if default is MISSING:
        if isinstance(position, int):
            raise KeyError(key)
        session.raise_if(position == len(keys), KeyError(key))
    values = (*(table[one] for one in keys), *(() if default is MISSING else (default,)))
    recorder = session.recorder
    return recorder.apply_all(Variant(position, values, recorder.apply), lambda one: one)


def get(session: Session, owner: Table, key: Any, default: Any = None) -> Any:
    """`owner.get(key, default)`."""
    held = owner.get(key, default)
    if maybe_absent(held):
        return _or_default(session, held, default)
    session.guards.read_item(owner, key, owner.get(key))
    return held


def _or_default(session: Session, held: Any, default: Any) -> Any:
    return session.recorder.apply_all(
        held, lambda one: default if isinstance(one, Undefined) else one
    )


def pop(session: Session, owner: Table, key: Any, *default: Any) -> Any:
    """`owner.pop(key, *default)`."""
    held: Any = owner.get(key)
    if not maybe_absent(held):
        return dict.pop(owner, key, *default)
    dict.pop(owner, key)
    if default:
        return _or_default(session, held, default[0])
    return defined(session.recorder, held, KeyError(key))


def setdefault(session: Session, owner: Table, key: Any, default: Any = None) -> Any:
    """`owner.setdefault(key, default)`."""
    held = owner.get(key)
    if maybe_absent(held):
        set_key(session, owner, key, _or_default(session, held, default))
        return owner[key]
    return dict.setdefault(owner, key, default)


def update(session: Session, owner: Table, *others: Any, **named: Any) -> None:
    """`owner.update(...)`."""
    for other in (*others, named):
        pairs = other if isinstance(other, dict) else dict(other)
        for key, value in pairs.items():
            _take_over(session, owner, key, value)


def _take_over(session: Session, owner: Table, key: Any, value: Any) -> None:
    """`owner[key] = value`, where the key itself may be absent."""
    if not maybe_absent(value):
        set_key(session, owner, key, value)
    elif key in owner:
        before = owner[key]
        recorder = session.recorder
        both = recorder.apply_all(value, lambda one: before if isinstance(one, Undefined) else one)
        set_key(session, owner, key, both)
    else:
        owner[key] = value


def set_key(session: Session, owner: Table, key: Any, value: Any) -> None:
    """`owner[key] = value`: one that may be absent must be the last, so that the order is known."""
    session.note(owner)
    if maybe_absent(owner.get(key)) and next(reversed(owner)) != key:
        raise UnsupportedCall(
            f"the place of the key {key!r} in the order of the dict depends on the path taken",
            at=current_place(), fix="set the key on every path, or before the others",
        )  # fmt: skip
    owner[key] = value


def get_or_make(session: Session, table: StagedDefaultDict, key: Any) -> Any:
    """`table[key]` of a defaultdict, by a key that is known."""
    held = table.get(key, Undefined(str(key)))
    if isinstance(held, Undefined):
        set_key(session, table, key, session.call(table.default_factory))
    elif maybe_absent(held):
        made = session.recorder.apply_all(
            held,
            lambda one: session.call(table.default_factory) if isinstance(one, Undefined) else one,
        )
        set_key(session, table, key, made)
    return table[key]


def copy(_session: Session, owner: Table) -> Table:
    """`owner.copy()`."""
    if isinstance(owner, StagedDefaultDict):
        return StagedDefaultDict(owner.default_factory, owner)
    return StagedDict(owner)


def union(session: Session, left: Table, right: Table) -> Table:
    """`left | right`."""
    result = StagedDict(left)
    session.recorder.born(result)
    update(session, result, right)
    return result


KEYED = ("get", "pop", "setdefault", "__getitem__")
VIEWS = ("values", "items", "keys")
METHODS: dict[str, Callable[..., Any]] = {
    "get": get, "pop": pop, "setdefault": setdefault, "update": update, "copy": copy,
}  # fmt: skip
