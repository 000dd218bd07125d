"""Dicts with a key that only some paths have set: the key's value may be undefined.

Reading one key, or asking whether it is there, looks at that value. Whatever looks at the dict as a
whole (iteration, `len`, the result of the program) is done once for each way the dict may be.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable

from stator.errors import UnsupportedCall
from stator.state.session import Session
from stator.values.annotations import Staged
from stator.values.staged import StagedDict, is_table
from stator.values.symbolic import Undefined
from stator.values.union import Union, maybe_absent


def is_partial(value: object) -> bool:
    """Is `value` a dict with a key that may be absent, or one of several such dicts?"""
    if isinstance(value, Union):
        return any(map(is_partial, value.alternatives))
    if not isinstance(value, dict) or is_table(value):
        return False
    return any(maybe_absent(item) for item in value.values())


def refuse_partial(values: Iterable[object]) -> None:
    """An error where library code receives a dict with a key that may be absent."""
    if any(map(is_partial, values)):
        raise UnsupportedCall(
            "library code receives a dict with a key that only some paths have set",
            fix="set the key on every path, or use `key in d` and `d[key]`",
        )


def for_each_way(session: Session, table: Staged, function: Callable[[Staged], Staged]) -> Staged:
    """`function(table)`, with every key there for sure or not at all."""
    if isinstance(table, Union):
        return session.recorder.apply_all(table, lambda one: for_each_way(session, one, function))
    if not is_partial(table):
        return function(table)
    key = next(key for key, value in table.items() if maybe_absent(value))

    def with_one(value: object) -> Staged:
        whole = StagedDict(table) if type(table) is dict else copy.copy(table)
        if isinstance(value, Undefined):
            del whole[key]
        else:
            whole[key] = value
        return for_each_way(session, whole, function)

    return session.recorder.apply_all(table[key], with_one)
