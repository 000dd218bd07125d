"""Displays: `[...]`, `(...)`, `{...}`, with `*` and `**` in them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch

from stator.capture.places import current_place
from stator.capture.values import StagedDict, StagedList, StagedSet, Variant, is_table
from stator.errors import UnsupportedCall
from stator.staging import dict_calls, lists, tables
from stator.staging.generators import StagedGenerator
from stator.staging.iteration import indexed
from stator.staging.partial import for_each_way, is_partial
from stator.staging.session import Session


class Spread:
    """`*values` in a display."""

    def __init__(self, values: Any) -> None:
        self.values = values


def new_list(session: Session, items: Sequence[Any]) -> Any:
    """`[...]`."""
    chosen = _in_each_way(session, items, new_list)
    if chosen is not None:
        return chosen[0]
    if not any(_is_counted_by_the_run(session, item) for item in items):
        return StagedList(_flat(items))
    result = StagedList()
    for item in items:
        if isinstance(item, Spread):
            session.call(result.extend, session.call(list, item.values))
        else:
            session.append(result, item)
    return result


def new_tuple(session: Session, items: Sequence[Any]) -> Any:
    """`(...)` with a `*` in it."""
    chosen = _in_each_way(session, items, new_tuple)
    if chosen is not None:
        return chosen[0]
    if any(_is_counted_by_the_run(session, item) for item in items):
        return session.call(tuple, new_list(session, items))
    return tuple(_flat(items))


def new_set(session: Session, items: Sequence[Any]) -> Any:
    """`{item, ...}`."""
    chosen = _in_each_way(session, items, new_set)
    if chosen is not None:
        return chosen[0]
    if not any(_is_counted_by_the_run(session, item) for item in items):
        whole = new_tuple(session, items)
        if not any(map(tables.is_captured_item, whole)):
            return StagedSet(whole)
    made = StagedSet()
    tables.call_table_method(session, made, "update", (new_list(session, items),), {})
    return made


def new_dict(session: Session, *entries: tuple[Any, ...]) -> Any:
    """`{key: value, ...}`; an entry of one part is a `**`."""
    result = StagedDict()
    for entry in entries:
        if len(entry) == 1:
            _spread_dict(session, result, entry[0])
            continue
        key, value = entry
        session.staging.setitem(result, key, value)
    return result


def _spread_dict(session: Session, result: StagedDict, table: Any) -> None:
    if isinstance(table, Variant):
        raise UnsupportedCall("`**` spreads a dict that depends on the path taken",
                              at=current_place(), fix="give it one form on every path")  # fmt: skip
    if is_table(table) or is_table(result):
        tables.call_table_method(session, result, "update", (table,), {})
        return
    whole = table if isinstance(table, dict) else dict(table)
    dict_calls.update(session, result, session.seen(whole))


def _in_each_way(session: Session, items: Sequence[Any], make: Any) -> tuple[Any] | None:
    """One display for each form of what a `*` spreads; None where there is one form only."""
    for at, item in enumerate(items):
        if not isinstance(item, Spread):
            continue
        values = for_each_way(session, item.values, tuple) if is_partial(item.values) else (
            item.values)  # fmt: skip
        if isinstance(values, Variant):
            make_one = functools.partial(_with_spread, session, items, at, make)
            return (session.recorder.apply_all(values, make_one),)
    return None


def _with_spread(session: Session, items: Sequence[Any], at: int, make: Any, values: Any) -> Any:
    return make(session, (*items[:at], Spread(values), *items[at + 1 :]))


def _is_counted_by_the_run(session: Session, item: Any) -> bool:
    if not isinstance(item, Spread):
        return False
    values = item.values
    if isinstance(values, torch.Tensor):
        return isinstance(values.shape[0], torch.SymInt)
    return (
        lists.is_captured(values)
        or isinstance(values, StagedGenerator)
        or indexed(session.recorder, values) is not None
    )


def _flat(items: Sequence[Any]) -> list[Any]:
    result: list[Any] = []
    for item in items:
        result += _rows(item.values) if isinstance(item, Spread) else [item]
    return result


def _rows(values: Any) -> Any:
    if isinstance(values, torch.Tensor):
        return [values[k] for k in range(values.shape[0])]
    return values
