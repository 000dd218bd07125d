"""Iterators whose items converted code takes: Python's own, of the capture and of the caller.

Every place that takes items of a value asks here first. An iterator of the caller's moves with
every call. One with an end is read as a list of what it has left, by a copy, which the program is
guarded by; after each run it is moved as far as the run came. One without an end is asked by each
run itself. Of any other (a generator, a file) no one can know the items before they are taken: it
is refused.
"""

from __future__ import annotations

import copy
import functools
import heapq
import io
import itertools
import math
import types
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from stator.containers import definitions
from stator.containers.generators import StagedGenerator
from stator.containers.iteration import Indexed, of_python
from stator.containers.iterators import StagedIterator, endless, new_iterator
from stator.containers.machine_definitions import Machine
from stator.containers.standard_definitions import by_index
from stator.english import with_article
from stator.errors import UnsupportedCall
from stator.library.iterator_calls import EMPTY, is_native, opened, runs_code, staged_iterator
from stator.library.refused_calls import is_from_torch
from stator.library.user_methods import user_method
from stator.state.callers_arrays import used_array
from stator.state.host_calls import record_host_call
from stator.state.read_results import Contents
from stator.state.session import Session
from stator.values.annotations import Args, Keywords, Staged

COPIED: tuple[type, ...] = (*(type(iter(one)) for one in EMPTY), type(reversed([])))
REBUILT = (enumerate,)  # made again of copies; a `zip` may take an item that it does not give
SCALARS = (int, float, str, bool)
LOOPING = frozenset(  # the modules whose functions loop over what they are given
    {"itertools", "collections", "heapq", "_heapq"}
)
TAKES_ALL: tuple[Any, ...] = (  # and go through one iterable from its start to its end
    all, any, frozenset, list, max, min, set, sorted, sum, tuple, functools.reduce, math.fsum,
    math.prod,
)  # fmt: skip
TAKES_AT_ONCE = (  # the functions of `itertools` that list their arguments first
    itertools.product, itertools.combinations, itertools.permutations,
    itertools.combinations_with_replacement,
)  # fmt: skip
LOOPS = (  # the functions of other modules that do
    all, any, bytearray, bytes, dict, enumerate, filter, frozenset, iter, list, map, max, min,
    reversed, set, sorted, sum, tuple, zip, functools.reduce, math.fsum, math.prod,
)  # fmt: skip


def iterated(session: Session, value: Staged) -> Staged:
    """`value`, whose items are about to be taken; an iterator as the program knows it."""
    value = used_array(session, value)
    if id(value) in session.spent_iterators:
        raise UnsupportedCall(
            "an iterator from outside is used while an `enumerate` iterates over it",
            fix="make a list of it first",
        )
    if _is_read_by_index(value):
        return session.interpreter.call(by_index, value)
    if not is_native(value) or (isinstance(value, io.IOBase) and not _is_outside(session, value)):
        return value
    if not _is_outside(session, value):
        return staged_iterator(session, value)
    if id(value) not in session.native_iterators:
        session.native_iterators[id(value)] = (value, _outside(session, value))
    return session.native_iterators[id(value)][1]


def _is_read_by_index(value: object) -> bool:
    """Has a user given it `__getitem__` and no `__iter__`, so that a loop counts its items?

    What has `keys` as well is a mapping.
    """
    return (
        not isinstance(value, list | tuple | dict | str | torch.Tensor | torch.nn.Module)
        and not (hasattr(type(value), "__iter__") or hasattr(type(value), "keys"))
        and user_method(value, "__getitem__") is not None
    )


def _is_outside(session: Session, value: object) -> bool:
    """One whose `__next__` a user wrote in Python is converted: its attributes are its position."""
    return session.provenance.is_external(value) and user_method(value, "__next__") is None


def _outside(session: Session, native: Iterator[Any]) -> StagedIterator:
    inside = _inside(native)
    used = {**session.native_iterators, **session.spent_iterators}
    is_alone = len({*map(id, inside)}) == len(inside) and not any(id(one) in used for one in inside)
    if _can_be_copied(native) and is_alone:
        session.spent_iterators.update({id(one): one for one in inside})
        return _with_an_end(session, native)
    upcoming = _upcoming(native)
    kinds = {type(item) for item in upcoming}
    if len(kinds) != 1 or not kinds <= {*SCALARS}:
        raise UnsupportedCall(
            f"items of {with_article(type(native).__name__)} from outside are taken: only the "
            "capture would take them, not later calls",
            fix="make a list of it before the call",
        )  # fmt: skip
    return _without_an_end(session, native, kinds.pop())


def _with_an_end(session: Session, native: Iterator[Any]) -> StagedIterator:
    left = _copied(native)
    for item in left:
        session.provenance.add_external(item)
    session.reads.watch(
        native, ("items",), lambda: Contents(_copied(native)), Contents(left),
        f"what {with_article(type(native).__name__)} has left",
    )  # fmt: skip
    items = of_python(session.recorder, map(session.staged, left))
    made = StagedIterator(session, items, type(native), unrolls=True)
    made.native = native
    session.provenance.add_stand_in(made)
    return made


def _without_an_end(session: Session, native: Iterator[Any], kind: type) -> StagedIterator:
    """Each run takes the items, at their places."""
    session.reads.watch(
        native, ("items",), lambda: {type(item) for item in _upcoming(native)} == {kind}, True,
        f"the type of what {with_article(type(native).__name__)} gives",
    )  # fmt: skip
    name = f"next({type(native).__name__})"

    def item(_: object) -> Staged:
        return record_host_call(session, next, (native,), {}, name=name, result=kind)

    return new_iterator(session, Indexed(lambda _: True, item, endless), type(native))


def _upcoming(native: Iterator[Any]) -> tuple[Any, ...]:
    """What an iterator without an end gives, once round; nothing of any other."""
    with warnings.catch_warnings():  # that Python 3.14 will have no copies of them
        warnings.simplefilter("ignore", DeprecationWarning)
        return _one_round(native)


def _one_round(native: Iterator[Any]) -> tuple[Any, ...]:
    if isinstance(native, itertools.count):
        return (next(copy.copy(native)),)
    if isinstance(native, itertools.repeat):
        repeated: Any = native.__reduce__()
        return tuple(repeated[1]) if len(repeated[1]) == 1 else ()
    if isinstance(native, itertools.cycle):
        parts: Any = native.__reduce__()
        inner: Any = parts[1][0]
        return (*_copied(inner), *parts[2][0]) if isinstance(inner, COPIED) else ()
    return ()


def _copied(native: Any) -> tuple[Any, ...]:
    return tuple(_copy_of(native))


def _can_be_copied(native: object) -> bool:
    """Can its items be seen without moving it?"""
    if not isinstance(native, REBUILT):
        return isinstance(native, COPIED)
    return len(native.__reduce__()) == 2 and all(map(_can_be_copied, _inside(native)))


def _inside(native: object) -> list[Any]:
    """The iterators that an `enumerate` goes through."""
    parts: Any = native.__reduce__() if isinstance(native, REBUILT) else ((), ())
    found = [one for one in parts[1] if isinstance(one, Iterator)]
    return found + [one for outer in found for one in _inside(outer)]


def _copy_of(native: Any) -> Any:
    """Another iterator at the same place; a copy of `enumerate` would move what it goes through."""
    if not isinstance(native, REBUILT):
        return copy.copy(native)
    parts: Any = native.__reduce__()
    inner = [_copy_of(one) if isinstance(one, Iterator) else one for one in parts[1]]
    return parts[0](*inner)


def iterated_arguments(
    session: Session, function: Staged, args: tuple[object, ...]
) -> tuple[Any, ...]:
    """The arguments of library code, which may take items of any of them.

    Files are not looked at: what is read from them and written to them has rules of its own. Nor is
    what only has `__getitem__`, unless the function is one of those that loop over anything.
    """
    return tuple(
        arg if _is_read_by_index(arg) and not _loops(function, args) else _argument(session, arg)
        for arg in args
    )


def whole_arguments(
    session: Session, function: Staged, args: Args, kwargs: Keywords
) -> tuple[Args, Keywords]:
    """The arguments of library code; the items of a generator as a list.

    Library code that takes them later would do so between other code of the user's: refused.
    """
    args = iterated_arguments(session, function, args)
    values = iterated_arguments(session, function, tuple(kwargs.values()))
    kwargs = dict(zip(kwargs, values, strict=True))
    if is_from_torch(function) and not isinstance(function, types.FunctionType | type):
        return args, kwargs  # an op takes no generators
    if _loops(function, args):
        args = tuple(opened(session, arg) for arg in args)
    if _takes_later(function) and any(map(runs_code, args)):
        raise UnsupportedCall(
            f"`{function.__name__}` takes items from a generator, or from an object with "
            "`__next__`",
            fix="make a list of it first: `list(...)`",
        )  # fmt: skip
    values = tuple(
        session.interpreter.call(list, arg) if runs_code(arg) else arg
        for arg in (*args, *kwargs.values())
    )
    return values[: len(args)], dict(zip(kwargs, values[len(args) :], strict=True))


def _takes_later(function: Staged) -> bool:
    is_lazy = getattr(function, "__module__", None) == "itertools" or function is heapq.merge
    return is_lazy and not any(function is one for one in TAKES_AT_ONCE)


def taken(session: Session, function: Staged, args: tuple[object, ...]) -> tuple[Any, ...]:
    """The arguments of a builtin function; an iterator as the program knows it."""
    if function is reversed and all(map(_is_read_by_index, args)):
        return args
    loops = _loops(function, args)
    first = 1 if function in (map, filter, functools.reduce) else 0
    last = first if function in TAKES_ALL else len(args)  # `start` of `sum` is no iterable
    return tuple(
        _items(session, function, arg) if loops and first <= k <= last else _as_known(session, arg)
        for k, arg in enumerate(args)
    )


def _as_known(session: Session, arg: Staged) -> Staged:
    return arg if _is_read_by_index(arg) else iterated(session, arg)


def _items(session: Session, function: Staged, arg: Staged) -> Staged:
    """An iterable argument; the `__iter__` of a user's is converted, and called once."""
    method = user_method(arg, "__iter__") if function in TAKES_ALL else None
    if method is None or isinstance(arg, Machine):
        return iterated(session, arg)
    found = session.interpreter.call_method(method, arg)
    if isinstance(found, StagedGenerator | StagedIterator | Machine):
        return found
    if user_method(found, "__next__") is not None:
        return session.interpreter.call(definitions.drained, found)
    return session.interpreter.call(list, found) if found is not arg else arg


def _loops(function: Staged, args: tuple[object, ...]) -> bool:
    """Does it loop over what it is given? `max` of several values compares these."""
    if function in (max, min):
        return len(args) == 1
    is_of_looping = getattr(function, "__module__", None) in LOOPING
    return is_of_looping or any(function is one for one in LOOPS)


def _argument(session: Session, arg: Any) -> Any:
    if type(arg) is tuple:
        return tuple(_argument(session, item) for item in arg)
    if isinstance(arg, list):
        for item in list.__iter__(arg):
            if is_native(item) and _is_outside(session, item):
                iterated(session, item)
                raise UnsupportedCall(
                    f"library code receives a list with {with_article(type(item).__name__)} "
                    "from outside",
                    fix="make a list of it before the call",
                )  # fmt: skip
        return arg
    return arg if isinstance(arg, io.IOBase) else iterated(session, arg)
