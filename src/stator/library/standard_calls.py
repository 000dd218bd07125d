"""Calls of `heapq`, `bisect`, `itertools` and of a Counter that are given staged values."""

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import itertools
from collections.abc import Callable
from typing import Any

from stator.containers import standard_definitions as written
from stator.containers.runtime_tables import fill
from stator.library.captured_values import SYMBOLIC, is_captured, is_runtime_sequence
from stator.state.session import Session
from stator.values.annotations import Args, Staged
from stator.values.sites import ORDERED_DICTS
from stator.values.staged import StagedCounter, StagedList, StagedOrderedDict

# they change their first argument, or only look at it: a staged list is theirs to know
OF_LISTS: dict[Any, Any] = {
    heapq.heappush: written.heappush, heapq.heappop: written.heappop,
    heapq.heapify: written.heapify, heapq.heapreplace: written.heapreplace,
    heapq.heappushpop: written.heappushpop,
    bisect.bisect_left: written.bisect_left, bisect.bisect_right: written.bisect_right,
    bisect.insort_left: written.insort_left, bisect.insort_right: written.insort_right,
}  # fmt: skip
OF_CAPTURED: dict[Any, Any] = {
    itertools.accumulate: written.accumulate, itertools.takewhile: written.takewhile,
    itertools.dropwhile: written.dropwhile, itertools.groupby: written.groupby,
    itertools.pairwise: written.pairwise,
}  # fmt: skip


def handlers(session: Session) -> dict[Any, Callable[..., Staged]]:
    """What handles each of these functions."""
    is_ordered = session.pooled.group_of(ORDERED_DICTS) is not None
    ordered = {collections.OrderedDict: functools.partial(_ordered_dict, session)}
    return {
        **(ordered if is_ordered else {}),
        **{function: functools.partial(_call, session, function, definition)
           for function, definition in (OF_LISTS | OF_CAPTURED).items()},
        collections.Counter: functools.partial(_counter, session),
    }  # fmt: skip


def _call(
    session: Session, function: Staged, definition: Staged, *args: object, **kwargs: object
) -> Staged:
    if _is_written_out(session, function, args):
        return session.interpreter.run(definition, *args, **kwargs)
    return session.interpreter.call_library(function, args, kwargs)


def _is_written_out(session: Session, function: Staged, args: Args) -> bool:
    """Does Python's own function lack what it needs to know?"""
    if function in (itertools.accumulate, itertools.pairwise):
        calls = function is itertools.accumulate and len(args) > 1 and is_captured(args[0])
        return calls or (bool(args) and is_runtime_sequence(session.recorder, args[0]))
    if function in OF_LISTS and args and isinstance(args[0], StagedList):
        return True
    return any(is_captured(arg) or isinstance(arg, SYMBOLIC) for arg in args)


def _counter(session: Session, *args: Staged, **kwargs: Staged) -> Staged:
    """`Counter(items)`: of the program where only a run knows which of them are equal."""
    if len(args) == 1 and not kwargs and is_captured(args[0]) and not isinstance(args[0], dict):
        made = StagedCounter()
        session.interpreter.run(written.counted, made, args[0])
        return made
    made = session.interpreter.call_library(collections.Counter, args, kwargs)
    session.recorder.provenance.add_created(made)
    return made


def _ordered_dict(session: Session, *args: Staged, **kwargs: Staged) -> Staged:
    """`OrderedDict(pairs)`, where a capture has found that its keys are data."""
    ordered = StagedOrderedDict(**kwargs)
    for pairs in args:
        fill(session, ordered, pairs)
    return ordered
