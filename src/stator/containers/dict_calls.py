"""Dicts: methods, captured keys, and keys that only some paths have set.

A key that may be absent is kept in the dict, with a value that may be undefined. What looks at one
key looks at that value; what looks at the whole dict is done for each way the dict may be.
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeGuard

from stator.capture.branches import defined
from stator.capture.conditions import raise_if, select
from stator.containers import counters, lazy_definitions, runtime_tables
from stator.containers.maybe_keys import for_each_way, is_partial
from stator.errors import UnsupportedCall
from stator.state.session import VIEWS as ITEM_VIEWS
from stator.state.session import Session
from stator.state.stand_ins import can_have_stand_in
from stator.values.annotations import Args, Keywords, Staged
from stator.values.hashing import hashed_fields, is_hashed_by_run
from stator.values.sites import COUNTERS, ORDERED_DICTS, Shared, Site, outside_site
from stator.values.staged import (
    StagedCounter,
    StagedDefaultDict,
    StagedDict,
    StagedList,
    StagedOrderedDict,
    is_table,
)
from stator.values.symbolic import CapturedText, Number, Undefined
from stator.values.union import Union, distribute, first_union, maybe_absent

MISSING = object()
Table = dict[Staged, Staged]


def call_dict_method(
    session: Session, owner: Staged, name: str, method: Staged, args: Args, kwargs: Keywords
) -> Staged:
    """`owner.name(*args, **kwargs)`."""
    if name in KEYED and not args:
        return method(*args, **kwargs)  # which raises
    if isinstance(owner, StagedCounter) and name in counters.METHODS:
        return counters.METHODS[name](session, owner, *args, **kwargs)
    is_chosen = name == "update" and isinstance(next(iter(args), None), Union)
    if is_chosen and is_partial(args[0]):
        update = functools.partial(call_dict_method, session, owner, name, method)
        return for_each_way(session, args[0], lambda one: update((one, *args[1:]), kwargs))
    if is_chosen or (name in KEYED and first_union(args[:1]) is not None):
        return distribute(
            lambda key: call_dict_method(session, owner, name, method, (key, *args[1:]), kwargs),
            args[:1], {},
        )  # fmt: skip
    if name == "update" and any(map(is_table, args)) and runtime_tables.can_become_table(owner):
        return runtime_tables.call_table_method(session, owner, name, args, kwargs)
    if (
        is_table(owner)
        or isinstance(owner, StagedOrderedDict)
        or (name == "popitem" and is_partial(owner) and runtime_tables.can_become_table(owner))
        or (
            args
            and name in KEYED
            and is_captured_key(args[0])
            and runtime_tables.can_become_table(owner)
            and (name in ("pop", "setdefault") or is_partial(owner))
        )
    ):
        return runtime_tables.call_table_method(session, owner, name, args, kwargs)
    session.note(owner)
    if name in KEYED and is_captured_key(args[0]):
        return _by_captured_key(session, owner, name, *args)
    if name in METHODS and (isinstance(owner, StagedDict) or _is_of_dict(type(owner), name)):
        return METHODS[name](session, owner, *args, **kwargs)
    if name in VIEWS and is_partial(owner):
        return for_each_way(session, owner, lambda whole: StagedList(getattr(dict, name)(whole)))
    if is_partial(owner) and name not in ("clear",):
        raise UnsupportedCall(
            f"`{name}` of a dict with a key that only some paths have set",
            fix="set the key on every path, or use `key in d` and `d[key]`",
        )
    return method(*args, **kwargs)


def _is_of_dict(cls: type, name: str) -> bool:
    """Is this method of `cls`, and what it does to items, that of `dict`?"""
    names = (name,) if name == "get" else (name, "__getitem__", "__setitem__")
    return all(getattr(cls, one) is getattr(dict, one) for one in names)


def is_captured_key(key: object) -> bool:
    """A key whose hash only a run knows."""
    if isinstance(key, tuple):
        return any(map(is_captured_key, key))
    if isinstance(key, Number | CapturedText) or (isinstance(key, StagedList) and key.is_tuple):
        return True
    return is_hashed_by_run(key) or any(map(is_captured_key, hashed_fields(key)))


def _by_captured_key(
    session: Session, owner: Table, name: str, key: object, *default: object
) -> Staged:
    if name == "get":
        return lookup(session, owner, key, *(default or (None,)))
    if name == "__getitem__":
        return lookup(session, owner, key)
    raise refused_key(session, owner, f"`{name}` with")


def refused_key(session: Session, owner: object, what: str) -> BaseException:
    """A captured key where a dict needs its hash."""
    refusal = UnsupportedCall(
        f"{what} a captured key of a {'dict' if isinstance(owner, dict) else type(owner).__name__}",
        fix="use a tensor or a list",
    )
    return _unless_of_program(session, owner, refusal)


def _unless_of_program(session: Session, owner: object, refusal: UnsupportedCall) -> BaseException:
    """`refusal` of a dict of Python's own; another capture may make one of the program."""
    sites: dict[type, Site] = {
        collections.OrderedDict: ORDERED_DICTS,
        collections.Counter: COUNTERS,
    }
    found = {sites[type(owner)]} if type(owner) in sites else set()
    before = session.journal.first_state(owner)
    if session.provenance.is_external(owner) and can_have_stand_in(owner, before):
        found.add(outside_site(owner))
    return Shared(frozenset(found), refusal) if found else refusal


def lookup(session: Session, table: Staged, key: Staged, default: Staged = MISSING) -> Staged:
    """`table[key]` for a captured key: one of the values, the default, or KeyError."""
    keys = [one for one in table if isinstance(one, str) == isinstance(key, CapturedText)]
    position: object = len(keys)
    for place, one in enumerate(keys):
        position = select(
            session.recorder, session.interpreter.compare(key, "==", one), place, position
        )
    recorder = session.recorder
    if default is MISSING:
        raise_if(recorder, position == len(keys), KeyError(key))
    values = (*(table[one] for one in keys), *(() if default is MISSING else (default,)))
    if isinstance(position, int):  # it follows from the branch that this is in
        return values[position]
    return recorder.apply_all(Union(position, values, recorder), lambda one: one)


def get(session: Session, owner: Table, key: object, default: object = None) -> Staged:
    """`owner.get(key, default)`."""
    held = owner.get(key, default)
    if maybe_absent(held):
        return _or_default(session, held, default)
    session.reads.read_item(owner, key, owner.get(key))
    return held


def _or_default(session: Session, held: Staged, default: Staged) -> Staged:
    return session.recorder.apply_all(
        held, lambda one: default if isinstance(one, Undefined) else one
    )


def pop(session: Session, owner: Table, key: object, *default: object) -> Staged:
    """`owner.pop(key, *default)`."""
    held: Any = owner.get(key)
    if not maybe_absent(held):
        return dict.pop(owner, key, *default)
    dict.pop(owner, key)
    if default:
        return _or_default(session, held, default[0])
    return defined(session.recorder, held, KeyError(key))


def setdefault(session: Session, owner: Table, key: object, default: object = None) -> Staged:
    """`owner.setdefault(key, default)`."""
    held = owner.get(key)
    if maybe_absent(held):
        set_key(session, owner, key, _or_default(session, held, default))
        return session.interpreter.getitem(owner, key)
    return dict.setdefault(owner, key, default)


def update(session: Session, owner: Table, *others: Staged, **named: Staged) -> None:
    """`owner.update(...)`."""
    for other in (*others, named):
        if isinstance(other, StagedList):
            session.interpreter.run(lazy_definitions.set_pairs, owner, other)
            continue
        pairs = other if isinstance(other, dict) else session.interpreter.call(dict, other)
        for key, value in pairs.items():
            _update_key(session, owner, key, value)


def _update_key(session: Session, owner: Table, key: object, value: Staged) -> None:
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


def set_key(session: Session, owner: Table, key: object, value: object) -> None:
    """`owner[key] = value`: one that may be absent must be the last, so that the order is known."""
    session.note(owner)
    if place_depends_on_path(owner, key) and isinstance(owner, StagedDict):
        runtime_tables.set_key(session, owner, key, value)
        return
    if place_depends_on_path(owner, key):
        refusal = UnsupportedCall(
            f"the place of the key {key!r} in the order of the dict depends on the path taken",
            fix="set the key on every path, or before the others",
        )
        raise _unless_of_program(session, owner, refusal)
    owner[key] = value


def place_depends_on_path(owner: Table, key: object) -> bool:
    """Is the key absent on some path, and another one after it?"""
    return maybe_absent(owner.get(key)) and next(reversed(owner)) != key


def makes_defaults(
    obj: dict[Staged, Staged],
) -> TypeGuard[collections.defaultdict[Staged, Staged]]:
    """Is it a defaultdict that makes what it lacks, as Python's own does?"""
    return (
        isinstance(obj, collections.defaultdict)
        and type(obj).__missing__ is collections.defaultdict.__missing__
        and obj.default_factory is not None
    )


def get_or_make(
    session: Session,
    table: StagedDefaultDict | collections.defaultdict[Staged, Staged],
    key: object,
) -> Staged:
    """`table[key]` of a defaultdict, by a key that is known."""
    if isinstance(table, StagedDefaultDict) and place_depends_on_path(table, key):
        return runtime_tables.get_key(session, table, key)
    held = table.get(key, Undefined(str(key)))
    if isinstance(held, Undefined):
        set_key(session, table, key, session.interpreter.call(table.default_factory))
    elif maybe_absent(held):
        made = session.recorder.apply_all(
            held,
            lambda one: (
                session.interpreter.call(table.default_factory)
                if isinstance(one, Undefined)
                else one
            ),
        )
        set_key(session, table, key, made)
    return table[key]


def copy(_session: Session, owner: Table) -> Table:
    """`owner.copy()`."""
    if isinstance(owner, StagedDefaultDict):
        return StagedDefaultDict(owner.default_factory, owner)
    return StagedDict(owner)


def combined_dicts(session: Session, left: Staged, sign: str, right: Staged) -> Table:
    """`left SIGN right`."""
    if counters.are_counters(left, right):
        return counters.combined(session, left, sign, right)
    result = StagedDict(left)
    session.provenance.add_created(result)
    update(session, result, right)
    return result


def is_mapping_in_python(value: object) -> bool:
    """Is it an object whose keys and items are given by methods written in Python?"""
    keys = getattr(type(value), "keys", None)
    return isinstance(keys, FunctionType) and not isinstance(value, dict)


def with_dicts(session: Session, args: Args) -> Args:
    """`args`, with a dict for each of them that is such an object."""
    call = session.interpreter.call
    return tuple(call(dict, arg) if is_mapping_in_python(arg) else arg for arg in args)


def combines_dicts(left: Staged, sign: str, right: Staged) -> bool:
    """Is `left SIGN right` an operator of two dicts?"""
    if not (isinstance(left, dict) and isinstance(right, dict)):
        return False
    return sign == "|" or (sign in counters.COMBINED and counters.are_counters(left, right))


def augment_dict(session: Session, left: Table, sign: str, right: Table) -> Table:
    """`left SIGN= right`."""
    if counters.are_counters(left, right):
        return counters.augmented(session, left, sign, right)
    session.interpreter.call(left.update, right)
    return left


def refuse_open_views(session: Session, *values: object) -> None:
    """An error for a view that is used as a set, of a dict with data-dependent keys."""
    for value in values:
        if isinstance(value, ITEM_VIEWS) and session.staged(value) is not value:
            raise UnsupportedCall("a view of a dict with data-dependent keys is used as a set",
                                  fix="use `in`, or go through it in a loop")  # fmt: skip


KEYED = ("get", "pop", "setdefault", "__getitem__")
VIEWS = ("values", "items", "keys")
METHODS: dict[str, Callable[..., Any]] = {
    "get": get, "pop": pop, "setdefault": setdefault, "update": update, "copy": copy,
}  # fmt: skip
