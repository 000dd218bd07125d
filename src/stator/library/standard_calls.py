"""Calls of `heapq`, `bisect`, `itertools`, `operator` and of a Counter, given staged values."""

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import itertools
import operator
import random
from collections.abc import Callable, Iterator
from typing import Any

from stator.capture.conversions import index
from stator.containers import definitions, lazy_definitions
from stator.containers import standard_definitions as written
from stator.containers.counters import new_counter
from stator.containers.dict_calls import is_mapping_in_python, with_dicts
from stator.containers.runtime_tables import fill
from stator.library.captured_values import SYMBOLIC, is_captured, is_runtime_sequence
from stator.library.iterator_calls import opened, runs_code
from stator.library.lazy_iterators import called_lazily, lazily, teed
from stator.library.python_random import new_random
from stator.library.statistics_definitions import key_of
from stator.state.session import Session
from stator.values.annotations import Args, Staged
from stator.values.freezing import not_by_reference
from stator.values.sites import COUNTERS, ORDERED_DICTS, Shared
from stator.values.staged import StagedList, StagedOrderedDict, is_table

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
    itertools.pairwise: written.pairwise, itertools.filterfalse: written.filterfalse,
    itertools.compress: written.compress,
}  # fmt: skip
LAZY: dict[Any, Any] = {  # of those that need no list of the items
    itertools.accumulate: lazy_definitions.accumulated,
    itertools.pairwise: lazy_definitions.pairwise, itertools.groupby: lazy_definitions.groups,
}  # fmt: skip
ARITHMETIC: dict[Any, str] = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/",
    operator.floordiv: "//", operator.mod: "%", operator.pow: "**", operator.matmul: "@",
    operator.and_: "&", operator.or_: "|", operator.xor: "^", operator.lshift: "<<",
    operator.rshift: ">>", operator.concat: "+",
}  # fmt: skip
COMPARISON: dict[Any, str] = {
    operator.lt: "<", operator.le: "<=", operator.eq: "==", operator.ne: "!=",
    operator.gt: ">", operator.ge: ">=",
}  # fmt: skip
OPERATORS: dict[Any, Any] = {
    operator.neg: written.negative, operator.pos: written.positive,
    operator.inv: written.inverted, operator.invert: written.inverted,
    operator.not_: written.is_false, operator.contains: written.contains,
    operator.is_: written.is_same, operator.is_not: written.is_other,
    operator.countOf: definitions.count_of, operator.indexOf: definitions.index_of,
}  # fmt: skip
GETTERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)


def call_getter(session: Session, getter: Staged, obj: Staged) -> Staged:
    """`getter(obj)` of one that `operator` has made."""
    interpreter = session.interpreter
    made, wanted = getter.__reduce__()
    if isinstance(made, functools.partial):  # a method with keywords
        return interpreter.call(interpreter.get(obj, wanted[0]), *wanted[1:], **made.keywords)
    if made is operator.methodcaller:
        return interpreter.call(interpreter.get(obj, wanted[0]), *wanted[1:])
    if made is operator.itemgetter:
        found = tuple(interpreter.getitem(obj, key) for key in wanted)
    else:
        found = tuple(interpreter.run(written.attribute_at, obj, path) for path in wanted)
    return found[0] if len(found) == 1 else found


def handlers(session: Session) -> dict[Any, Callable[..., Staged]]:
    """What handles each of these functions."""
    is_ordered = session.pooled.group_of(ORDERED_DICTS) is not None
    ordered = _ordered_dict if is_ordered else _plain_ordered_dict
    return {
        collections.OrderedDict: functools.partial(ordered, session),
        **{function: functools.partial(_call, session, function, definition)
           for function, definition in (OF_LISTS | OF_CAPTURED).items()},
        functools.cmp_to_key: lambda mycmp: session.interpreter.call(key_of, mycmp),
        random.Random: functools.partial(new_random, session),
        itertools.tee: functools.partial(teed, session),
        itertools.zip_longest: functools.partial(_zip_longest, session),
        collections.Counter: functools.partial(_counter, session),
        **_operators(session),
    }  # fmt: skip


def _operators(session: Session) -> dict[Any, Callable[..., Staged]]:
    """Functions of `operator`: what the operator itself does."""
    return {
        **{function: functools.partial(_arithmetic, session, sign)
           for function, sign in ARITHMETIC.items()},
        **{function: functools.partial(_comparison, session, sign)
           for function, sign in COMPARISON.items()},
        **{function: functools.partial(_operator, session, definition)
           for function, definition in OPERATORS.items()},
        operator.truth: lambda value, /: session.interpreter.truth(value),
        operator.index: lambda value, /: index(session.recorder, value)
        if isinstance(value, SYMBOLIC) else operator.index(value),
        operator.getitem: lambda obj, key, /: session.interpreter.getitem(obj, key),
        operator.setitem: lambda obj, key, value, /: session.interpreter.setitem(obj, key, value),
    }  # fmt: skip


def _operator(session: Session, definition: Staged, *args: Staged) -> Staged:
    return session.interpreter.run(definition, *args)


def _arithmetic(session: Session, sign: str, left: Staged, right: Staged, /) -> Staged:
    return session.interpreter.arithmetic(left, sign, right)


def _comparison(session: Session, sign: str, left: Staged, right: Staged, /) -> Staged:
    return session.interpreter.compare(left, sign, right)


def _call(
    session: Session, function: Staged, definition: Staged, *args: object, **kwargs: object
) -> Staged:
    if function in OF_CAPTURED:
        args = tuple(opened(session, arg) for arg in args)
        lazy = LAZY.get(function, definition)
        if any(map(runs_code, args)):
            return session.interpreter.call(lazy, *args, **kwargs)
        if lazily(session, lazy):
            args = called_lazily(session, lazy, args)
            return session.interpreter.call(lazy, *args, **kwargs)
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


def _zip_longest(session: Session, *values: Staged, fillvalue: Staged = None) -> Staged:
    """`itertools.zip_longest`: the items are read by number, those of iterators one by one."""
    values = tuple(opened(session, value) for value in values)
    if any(runs_code(value) or isinstance(value, Iterator) for value in values):
        iterators = tuple(session.interpreter.call(iter, value) for value in values)
        return session.interpreter.call(lazy_definitions.zipped_longest, iterators, fillvalue)
    if not any(map(is_captured, values)):
        return session.interpreter.call_library(
            itertools.zip_longest, values, {"fillvalue": fillvalue}
        )
    columns = tuple(session.interpreter.call(list, value) for value in values)
    return session.interpreter.call(written.zip_longest, columns, fillvalue)


def _counter(session: Session, *args: Staged, **counts: Staged) -> Staged:
    """`Counter(items)`: of the program where only a run knows which of them are equal."""
    args = with_dicts(session, args)
    has_data = session.pooled.group_of(COUNTERS) is not None or any(
        is_captured(arg) and not isinstance(arg, dict | collections.Counter) for arg in args
    )
    if has_data or is_table(next(iter(args), None)):
        return new_counter(session, *args, **counts)
    made = session.interpreter.call_library(collections.Counter, args, counts)
    session.recorder.provenance.add_created(made)
    return made


def _plain_ordered_dict(session: Session, *args: Staged, **kwargs: Staged) -> Staged:
    """`OrderedDict(pairs)`; where only a run knows them, it is one of the program."""
    if any(is_runtime_sequence(session.recorder, pairs) for pairs in args):
        raise Shared(frozenset({ORDERED_DICTS}), not_by_reference("OrderedDict"))
    if any(map(is_mapping_in_python, args)):
        return session.interpreter.call(
            collections.OrderedDict, *with_dicts(session, args), **kwargs
        )
    made = session.interpreter.call_library(collections.OrderedDict, args, kwargs)
    session.recorder.provenance.add_created(made)
    return made


def _ordered_dict(session: Session, *args: Staged, **kwargs: Staged) -> Staged:
    """`OrderedDict(pairs)`, where a capture has found that its keys are data."""
    ordered = StagedOrderedDict(**kwargs)
    for pairs in with_dicts(session, args):
        fill(session, ordered, pairs)
    return ordered
