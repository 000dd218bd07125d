"""Tables: dicts and sets whose keys or items only a run knows.

A dict of the program is a list of its pairs, in the order of insertion; a set is a list of its
items, each once. What is done with one is written out in Python (`definitions`) and converted. The
order of a set is not Python's, so nothing may depend on it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from stator.capture.flatten import container_of, list_of
from stator.containers import definitions
from stator.containers.lists import columns_of
from stator.containers.maybe_keys import is_partial
from stator.errors import UnsupportedCall
from stator.state.session import Session
from stator.values.annotations import Args, Keywords, Staged
from stator.values.hashing import hashed_fields, is_hashed_by_run
from stator.values.staged import (
    Columns,
    StagedCounter,
    StagedDefaultDict,
    StagedDict,
    StagedList,
    StagedOrderedDict,
    StagedSet,
    is_table,
)
from stator.values.symbolic import CapturedText, Number, Undefined
from stator.values.union import Union, maybe_absent

Table = StagedDict | StagedSet
NO_DEFAULT = definitions.NO_DEFAULT


def can_become_table(value: object) -> bool:
    """May `value` get a key or an item that only a run knows?"""
    return isinstance(value, StagedDict | StagedSet)


def entries(session: Session, table: Table) -> StagedList:
    """The pairs of a dict, or the items of a set, as a new list of the program."""
    if is_partial(table):  # it may be a dict of the caller's, whose keys some paths have set
        return _present_pairs(session, table)
    columns = table.columns
    if columns is None:
        known: object = table.items() if isinstance(table, StagedDict) else table
        columns = columns_of(session.recorder, StagedList(known))
    return list_of(Columns(columns.item, columns.values))


def _present_pairs(session: Session, table: Staged) -> StagedList:
    """The pairs of a dict with keys that may be absent: those that are there."""
    pairs = StagedList()
    for key, value in table.items():
        if maybe_absent(value):
            session.recorder.apply_all(value, functools.partial(_add_pair, session, pairs, key))
        else:
            session.interpreter.call(pairs.append, (key, value))
    return pairs


def _add_pair(session: Session, pairs: StagedList, key: object, value: object) -> None:
    if not isinstance(value, Undefined):
        session.interpreter.call(pairs.append, (key, value))


def put_items(session: Session, table: Table, items: StagedList) -> None:
    """`items` are what `table` holds from now on."""
    columns = columns_of(session.recorder, items)
    table.clear()
    form = dict if isinstance(table, StagedDict) else set
    table.columns = Columns(columns.item, columns.values, form)


def _changed(session: Session, table: Table, change: Staged, *args: Staged) -> Staged:
    """`change(entries, *args)`; the table then holds what that leaves."""
    session.note(table)
    items = entries(session, table)
    result = session.interpreter.run(change, items, *args)
    put_items(session, table, items)
    return result


def get_key(session: Session, table: StagedDict, key: object) -> Staged:
    """`table[key]`."""
    if isinstance(table, StagedCounter):
        return _count(session, table, key)
    if isinstance(table, StagedDefaultDict) and table.default_factory is not None:
        return _changed(session, table, definitions.table_default, key, table.default_factory)
    return session.interpreter.run(definitions.table_get, entries(session, table), key)


def is_read_as_table(obj: object, makes_missing: bool, by_captured_key: bool) -> bool:
    """Does `get_key` read its items? `makes_missing` says that its class has `__missing__`."""
    if is_table(obj) or isinstance(obj, StagedCounter):
        return True
    is_open = is_partial(obj) and (isinstance(obj, StagedDict) or not makes_missing)
    return by_captured_key and (is_open or isinstance(obj, StagedDefaultDict))


def _count(session: Session, table: StagedCounter, key: object) -> Staged:
    """`table[key]`; a Counter lacks nothing."""
    if is_table(table) or is_captured_item(key):
        return _get(session, table, key, 0)
    held = dict.get(table, key, 0)
    if not maybe_absent(held):
        return held
    return session.recorder.apply_all(held, lambda one: 0 if isinstance(one, Undefined) else one)


def set_key(session: Session, table: StagedDict, key: object, value: object) -> None:
    """`table[key] = value`."""
    _refuse_key(key)
    _changed(session, table, definitions.table_set, key, value)


def delete_key(session: Session, table: StagedDict, key: object) -> None:
    """`del table[key]`; a Counter lacks nothing."""
    default = 0 if isinstance(table, StagedCounter) else NO_DEFAULT
    _changed(session, table, definitions.table_pop, key, default)


def has(session: Session, table: Table, item: object) -> Staged:
    """`item in table`."""
    definition = definitions.table_has if isinstance(table, StagedDict) else definitions.contains
    return session.interpreter.truth(
        session.interpreter.run(definition, entries(session, table), item)
    )


def keys(session: Session, table: StagedDict) -> Staged:
    """The keys, as a list."""
    return session.interpreter.run(definitions.table_keys, entries(session, table))


def _refuse_key(key: object) -> None:
    if isinstance(key, torch.Tensor):
        raise UnsupportedCall("a tensor is a key of a dict, or an item of a set, of the program",
                              fix="use its number: `.item()`")  # fmt: skip


def is_captured_item(item: object) -> bool:
    """An item of a set whose hash only a run knows."""
    if isinstance(item, tuple):
        return any(map(is_captured_item, item))
    if isinstance(item, StagedList) and item.is_tuple:
        return True
    if isinstance(item, Number | CapturedText | Union):
        return True
    return is_hashed_by_run(item) or any(map(is_captured_item, hashed_fields(item)))


def has_captured_keys(pairs: object) -> bool:
    """Is it a sequence of pairs, of which only a run knows some key?"""
    return isinstance(pairs, list | tuple) and any(
        isinstance(pair, tuple | list) and len(pair) == 2 and is_captured_item(pair[0])
        for pair in pairs
        if not (isinstance(pair, StagedList) and pair.is_open)
    )


def fill(session: Session, table: StagedDict, pairs: object) -> None:
    """`dict(pairs)`, into an empty dict."""
    whole = entries(session, pairs) if isinstance(pairs, StagedDict) else pairs
    _changed(session, table, definitions.table_update, whole)


# ---- methods


def call_table_method(
    session: Session, table: Table, name: str, args: Args, kwargs: Keywords
) -> Staged:
    """`table.name(*args, **kwargs)` of a dict or set of the program."""
    methods = DICT_METHODS if isinstance(table, StagedDict) else SET_METHODS
    if isinstance(table, StagedOrderedDict):
        methods = methods | ORDERED_METHODS
    if name not in methods:
        what = "dict" if isinstance(table, StagedDict) else "set"
        raise UnsupportedCall(
            f"`{what}.{name}` of a {what} with data-dependent items is not supported",
            fix="use a list, or a tensor",
        )
    return methods[name](session, table, *args, **kwargs)


def _get(session: Session, table: StagedDict, key: object, default: object = None) -> Staged:
    return session.interpreter.run(definitions.table_get, entries(session, table), key, default)


def _pop(session: Session, table: StagedDict, key: object, default: object = NO_DEFAULT) -> Staged:
    return _changed(session, table, definitions.table_pop, key, default)


def _setdefault(session: Session, table: StagedDict, key: object, default: object = None) -> Staged:
    _refuse_key(key)
    return _changed(session, table, definitions.table_setdefault, key, default)


def _values(session: Session, table: StagedDict) -> Staged:
    return session.interpreter.run(definitions.table_values, entries(session, table))


def _clear(session: Session, table: Table) -> None:
    session.note(table)
    table.columns = None
    table.clear()


def _pop_item(session: Session, table: StagedDict) -> Staged:
    return _changed(session, table, definitions.table_popitem, True, "popitem(): ")


def _pop_end(session: Session, table: StagedDict, last: object = True) -> Staged:
    return _changed(session, table, definitions.table_popitem, last, "")


def _move_to_end(session: Session, table: StagedDict, key: object, last: object = True) -> None:
    _changed(session, table, definitions.table_move_to_end, key, last)


def _copy_ordered(session: Session, table: StagedDict) -> Staged:
    new = StagedOrderedDict()
    put_items(session, new, entries(session, table))
    return new


def _copy(_session: Session, table: Table) -> Staged:
    assert table.columns is not None
    return container_of(table.columns)


def _add(session: Session, table: StagedSet, item: object) -> None:
    _refuse_key(item)
    _changed(session, table, definitions.set_add, item)


def _discard(session: Session, table: StagedSet, item: object) -> None:
    _changed(session, table, definitions.set_discard, item)


def _remove(session: Session, table: StagedSet, item: object) -> None:
    _changed(session, table, definitions.set_remove, item)


def _update(session: Session, table: Staged, *others: object, **named: object) -> None:
    for other in (*others, *((named,) if named else ())):
        if isinstance(table, StagedSet):
            items = entries(session, other) if isinstance(other, StagedSet) else (
                session.interpreter.call(list, other))  # fmt: skip
            _changed(session, table, definitions.set_update, items)
        else:
            pairs = other if isinstance(other, StagedDict) else StagedDict(other)
            _changed(session, table, definitions.table_update, entries(session, pairs))


DICT_METHODS: dict[str, Callable[..., Any]] = {
    "get": _get, "pop": _pop, "setdefault": _setdefault, "update": _update, "clear": _clear,
    "copy": _copy, "keys": keys, "values": _values, "items": entries, "__getitem__": get_key,
    "__contains__": has, "popitem": _pop_item,
}  # fmt: skip
ORDERED_METHODS: dict[str, Callable[..., Any]] = {
    "popitem": _pop_end, "move_to_end": _move_to_end, "copy": _copy_ordered,
}  # fmt: skip
SET_METHODS: dict[str, Callable[..., Any]] = {
    "add": _add, "discard": _discard, "remove": _remove, "update": _update, "clear": _clear,
    "copy": _copy, "__contains__": has,
}  # fmt: skip


def unordered_items(
    session: Session, function: Staged, items: StagedSet, options: Keywords
) -> Staged:
    """A set of the program as a list, where the order of its items makes no difference."""
    assert items.columns is not None
    whole = getattr(items.columns.item, "name", "") in ("int", "bool")
    if function in (max, min, sorted) and options.get("key") is None:
        return entries(session, items)
    if function in (any, all) or (function is sum and whole):
        return entries(session, items)
    return items
