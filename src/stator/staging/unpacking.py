"""unpack: what `a, b = value` and `a, *b, c = value` assign."""

from __future__ import annotations

from typing import TypeGuard

import torch

from stator.capture.conditions import negated, raise_if
from stator.containers import lists
from stator.containers.iteration import CapturedRange
from stator.containers.iterators import StagedIterator
from stator.containers.maybe_keys import for_each_way, is_partial
from stator.containers.pools import Pools
from stator.library import text
from stator.library.captured_values import rows
from stator.library.iterator_calls import opened, runs_code
from stator.library.outside_iterators import iterated
from stator.library.tensor_calls import unbind
from stator.state.session import Session
from stator.values.annotations import Staged
from stator.values.arrays import CapturedArray
from stator.values.staged import StagedList
from stator.values.symbolic import CapturedText
from stator.values.union import Union


def unpack(session: Session, pools: Pools, value: Staged, before: int, after: int | None) -> Staged:
    """One value for each target; `after` is None where none of them has a star."""
    value = session.staged(iterated(session, value))
    if _counts_its_items(value) and after is None:
        return _unpack_iterator(session, value, before)
    value = all_items(session, value)
    if is_partial(value):
        value = for_each_way(session, value, tuple)
    if isinstance(value, Union):
        return session.recorder.apply(
            value, lambda one: _counted(unpack(session, pools, one, before, after), before, after)
        )
    if isinstance(value, torch.Tensor):
        if not isinstance(value.shape[0], int) and after is None:
            _demand_length(session, value.shape[0], before)
            return tuple(value[k] for k in range(before))
        value = unbind(session, value)
    elif isinstance(value, CapturedArray):
        value = rows(value)
    if isinstance(value, CapturedText):
        value = session.interpreter.call(list, value)
    if lists.is_captured(value):
        return _unpack_list(session, pools, value, before, after)
    if isinstance(value, list | tuple) and any(map(session.has_stand_in, value)):
        value = tuple(map(session.staged, value))
    return value if after is None else _unpack_items(pools, value, before, after)


def _counts_its_items(value: object) -> TypeGuard[StagedIterator]:
    """Is it an iterator of which only a run knows how many items are left?"""
    if not isinstance(value, StagedIterator) or value.is_endless:
        return False
    return not isinstance(value.more(), bool)


def _unpack_iterator(session: Session, iterator: StagedIterator, wanted: int) -> Staged:
    """Each item is read by its number, and so has its own type."""
    items = []
    for count in range(wanted):
        text_of_error = f"not enough values to unpack (expected {wanted}, got {count})"
        raise_if(session.recorder, negated(iterator.more()), ValueError(text_of_error))
        items.append(iterator.take())
    too_many = ValueError(f"too many values to unpack (expected {wanted})")
    raise_if(session.recorder, iterator.more(), too_many)
    return tuple(items)


def all_items(session: Session, value: Staged) -> Staged:
    """`value`, of which all items are taken; the rest of an iterator as a list of the program."""
    value = session.staged(iterated(session, value))
    value = opened(session, value)
    if _counts_its_items(value) or runs_code(value) or isinstance(value, CapturedRange):
        return session.interpreter.call(list, value)
    return value


def _counted(values: Staged, before: int, after: int | None) -> tuple[Staged, ...]:
    """One of several values that are unpacked: another number of items than of targets raises."""
    items = tuple(values)
    if after is None and len(items) > before:
        raise ValueError(f"too many values to unpack (expected {before})")
    if after is None and len(items) < before:
        raise ValueError(f"not enough values to unpack (expected {before}, got {len(items)})")
    return items


def _unpack_items(pools: Pools, value: Staged, before: int, after: int) -> Staged:
    (*items,) = value
    end = len(items) - after
    if end < before:
        raise ValueError(
            f"not enough values to unpack (expected at least {before + after}, got {len(items)})"
        )
    rest = pools.placed("*", lambda: StagedList(items[before:end]))
    return (*items[:before], rest, *items[end:])


def _unpack_list(
    session: Session, pools: Pools, value: StagedList, before: int, after: int | None
) -> Staged:
    recorder = session.recorder
    length = lists.list_length(recorder, value)
    if after is None:
        _demand_length(session, length, before)
        return tuple(lists.list_get(recorder, value, k) for k in range(before))
    _demand_enough(session, length, f"at least {before + after}", before + after)
    end = length - after
    return (
        *(lists.list_get(recorder, value, k) for k in range(before)),
        pools.placed("*", lambda: lists.list_slice(recorder, value, slice(before, end))),
        *(lists.list_get(recorder, value, end + k) for k in range(after)),
    )


def _demand_length(session: Session, length: Staged, wanted: int) -> None:
    raise_if(session.recorder, length > wanted, ValueError(
        f"too many values to unpack (expected {wanted})"))  # fmt: skip
    _demand_enough(session, length, str(wanted), wanted)


def _demand_enough(session: Session, length: Staged, words: str, wanted: int) -> None:
    too_few = text.fstring(
        session, f"not enough values to unpack (expected {words}, got ",
        text.format_value(session, length, None, None), ")",
    )  # fmt: skip
    raise_if(session.recorder, length < wanted, ValueError(too_few))
