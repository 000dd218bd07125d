"""`max`, `min` and `sorted`: by comparisons that the program makes, where values are captured."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from stator.capture.conditions import choose
from stator.containers import definitions, lists, runtime_tables
from stator.containers.iterators import StagedIterator
from stator.containers.standard_definitions import max_in_turn, min_in_turn
from stator.errors import UnsupportedCall
from stator.library.captured_values import is_captured, is_runtime_sequence, rows
from stator.library.unconverted_calls import are_objects_of_run
from stator.state.session import Session
from stator.state.unconverted import watched
from stator.values.annotations import Args, Staged
from stator.values.staged import StagedList, StagedSet
from stator.values.union import Union, over_unions

WRITTEN: dict[Any, tuple[Staged, Staged]] = {  # of a container, and of an iterator with a key
    max: (definitions.max_of, max_in_turn), min: (definitions.min_of, min_in_turn),
}  # fmt: skip


def orderings(session: Session) -> dict[Any, Callable[..., Staged]]:
    """What handles these builtins."""
    return {
        max: functools.partial(_extreme, session, max),
        min: functools.partial(_extreme, session, min),
        sorted: functools.partial(_sorted, session),
    }


def refuse_endless(*args: Staged) -> None:
    """Refuse an iterator without an end, of which all items are about to be taken."""
    if args and isinstance(args[0], StagedIterator) and args[0].is_endless:
        args[0].items.length()


def _extreme(session: Session, python: Staged, *args: Staged, **options: Staged) -> Staged:
    items = args[0] if len(args) == 1 else StagedList(args)
    has_key = options.get("key") is not None
    of_items, of_iterator = WRITTEN[python]
    if isinstance(items, Iterator):
        refuse_endless(items)
        if has_key:
            return session.interpreter.run(of_iterator, items, **options)
        items = session.interpreter.call(list, items)
        args = (items,)
    if isinstance(items, Union):
        return session.recorder.apply(items, lambda one: _extreme(session, python, one, **options))
    if is_captured(items) or (has_key and items) or are_objects_of_run(items):
        return session.interpreter.run(of_items, items, **options)
    return _as_python(session, python, args, options)


@over_unions("items")
def _sorted(session: Session, items: object, **options: object) -> Staged:
    """`sorted`: by exchanges that the program makes, where it compares captured values."""
    call, key = session.interpreter.call, options.get("key")
    reverse = session.interpreter.truth(options.get("reverse", False))
    if is_runtime_sequence(session.recorder, items):
        return _sorted_by_the_run(session, items, key, reverse)
    if not isinstance(reverse, bool):
        return choose(
            session.recorder,
            reverse,
            lambda: _sorted(session, items, key=key, reverse=True),
            lambda: _sorted(session, items, key=key, reverse=False),
        )
    if isinstance(items, Iterator):
        items = call(list, items)
        if is_runtime_sequence(session.recorder, items):
            return _sorted_by_the_run(session, items, key, reverse)
    values = list(rows(items))
    keys = values if key is None else [call(key, value) for value in values]
    if is_captured(keys) or are_objects_of_run(keys):
        lists_of = (StagedList(values), StagedList(keys))
        return session.interpreter.run(definitions.sorted_by, *lists_of, reverse)
    options = {"key": keys.__getitem__, "reverse": reverse}
    order = _as_python(session, sorted, (range(len(keys)),), options)
    return StagedList(values[k] for k in order)


def _sorted_by_the_run(session: Session, items: object, key: object, reverse: object) -> Staged:
    """`sorted` of a number of items that only a run knows."""
    run = session.interpreter.run
    if isinstance(items, StagedSet) and key is not None:
        raise UnsupportedCall(
            "a data-dependent set is sorted by a key",
            fix="sort it without `key=`: the order of items with equal keys is unknown",
        )
    values = (
        runtime_tables.entries(session, items)
        if isinstance(items, StagedSet)
        else session.interpreter.call(list, items)
    )
    keys = values if key is None else run(definitions.keys_of, values, key)
    order = lists.order_of(session.recorder, keys, reverse)
    if order is None:
        return run(definitions.sorted_by, values, keys, reverse)
    return lists.taken(session.recorder, values, order)


def _as_python(session: Session, function: Staged, args: Args, options: Any) -> Staged:
    with watched(session, function.__name__):
        return function(*args, **options)
