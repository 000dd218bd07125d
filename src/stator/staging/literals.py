"""Displays: `[...]`, `(...)`, `{...}`, with `*` and `**` in them."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch

from stator.containers import dict_calls, lists, runtime_tables
from stator.containers.generators import StagedGenerator
from stator.containers.iteration import indexed
from stator.containers.maybe_keys import for_each_way, is_partial
from stator.library.user_keys import check_keys
from stator.staging.unpacking import all_items
from stator.state.session import Session
from stator.values.annotations import Staged
from stator.values.staged import StagedDict, StagedList, StagedSet, is_table
from stator.values.union import Union


class Spread:
    """`*values` in a display."""

    def __init__(self, values: object) -> None:
        self.values = values


def new_list(session: Session, items: Sequence[object]) -> Staged:
    """`[...]`."""
    chosen = _in_each_way(session, items, new_list)
    if chosen is not None:
        return chosen[0]
    if not any(_is_counted_by_the_run(session, item) for item in items):
        return StagedList(map(session.seen_item, _flat(items)))
    result = StagedList()
    for item in items:
        if isinstance(item, Spread):
            session.interpreter.call(result.extend, session.interpreter.call(list, item.values))
        else:
            session.interpreter.call(result.append, item)
    return result


def new_tuple(session: Session, items: Sequence[object]) -> Staged:
    """`(...)` with a `*` in it."""
    chosen = _in_each_way(session, items, new_tuple)
    if chosen is not None:
        return chosen[0]
    if any(_is_counted_by_the_run(session, item) for item in items):
        return session.interpreter.call(tuple, new_list(session, items))
    return tuple(_flat(items))


def new_set(session: Session, items: Sequence[object]) -> Staged:
    """`{item, ...}`."""
    chosen = _in_each_way(session, items, new_set)
    if chosen is not None:
        return chosen[0]
    if not any(_is_counted_by_the_run(session, item) for item in items):
        whole = tuple(_flat(items, of_set=True))
        check_keys(session, whole)
        if not any(map(runtime_tables.is_captured_item, whole)):
            return StagedSet(whole)
    made = StagedSet()
    runtime_tables.call_table_method(session, made, "update", (new_list(session, items),), {})
    return made


def new_dict(session: Session, *entries: tuple[object, ...]) -> Staged:
    """`{key: value, ...}`; an entry of one part is a `**`."""
    result = StagedDict()
    for entry in entries:
        if len(entry) == 1:
            _spread_dict(session, result, entry[0])
            continue
        key, value = entry
        session.interpreter.setitem(result, key, session.seen_item(value))
    return result


def _spread_dict(session: Session, result: StagedDict, table: Staged) -> None:
    if isinstance(table, Union):
        for_each_way(session, table, lambda one: _spread_dict(session, result, one))
        return
    if is_table(table) or is_table(result):
        runtime_tables.call_table_method(session, result, "update", (table,), {})
        return
    (table,) = dict_calls.with_dicts(session, (table,))
    whole = table if isinstance(table, dict) else {**table}
    dict_calls.update(session, result, session.staged(whole))


def _in_each_way(session: Session, items: Sequence[object], make: object) -> tuple[object] | None:
    """One display for each form of what a `*` spreads; None where there is one form only."""
    for at, item in enumerate(items):
        if not isinstance(item, Spread):
            continue
        values = item.values = all_items(session, item.values)
        if is_partial(values):
            values = for_each_way(session, values, tuple)
        if isinstance(values, Union):
            make_one = functools.partial(_with_spread, session, items, at, make)
            return (session.recorder.apply_all(values, make_one),)
    return None


def _with_spread(
    session: Session, items: Sequence[Staged], at: int, make: Staged, values: Staged
) -> Staged:
    return make(session, (*items[:at], Spread(values), *items[at + 1 :]))


def _is_counted_by_the_run(session: Session, item: object) -> bool:
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


def _flat(items: Sequence[object], *, of_set: bool = False) -> list[object]:
    """The items, spread; of what has none, a set says something else than a list or a tuple."""
    result: list[object] = []
    for item in items:
        if isinstance(item, Spread):
            rows = _rows(item.values)
            result += rows if of_set else [*rows]
        else:
            result.append(item)
    return result


def _rows(values: object) -> Staged:
    if isinstance(values, torch.Tensor):
        return [values[k] for k in range(values.shape[0])]
    return values
