"""Calls of functions under `functools.cache` and `lru_cache`: the cache is state of the process.

With arguments that Python knows, outside every branch and loop of the program, the function is
called as it is: what it gives is what every later call gets, as long as the cache keeps it. The
same holds in a branch, where the cache has the answer already. Else its body is converted. Then it
must change nothing outside: a later call, which eager code answers from the cache, would change it
again. And what it reads outside must stay what it was: the cache would still have the answer that
the old value gave. A tensor is known to a cache by its identity, whatever is written into it, so
none can be an argument.
"""

from __future__ import annotations

import contextlib
import functools
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from stator.capture.recorder import Recorder
from stator.capture.scope import Scope
from stator.errors import UnsupportedCall
from stator.library.cache_uses import (
    NOTHING,
    Cached,
    CachedFailure,
    CacheLog,
    entry_of,
    is_bounded,
    log_of,
    note_use,
)
from stator.library.captured_values import SYMBOLIC, is_captured
from stator.library.iterator_calls import SEEN
from stator.program.ir import with_inner_ops
from stator.program.opset.queries import kind_of, row_of
from stator.state.read_results import ANY, Heard, unchanged
from stator.state.session import Session
from stator.values.annotations import Args, Keywords, Staged
from stator.values.contents import state_of
from stator.values.staged import StagedContainer, python_name

KNOWN = (
    bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device, type,
    types.FunctionType,
)  # fmt: skip
# what the bodies have read outside, by function, when they were converted first
_heard: weakref.WeakKeyDictionary[Any, Heard] = weakref.WeakKeyDictionary()


def call_cached(session: Session, function: Cached, args: Args, kwargs: Keywords) -> Staged:
    """`function(*args, **kwargs)`."""
    _check_hashable((*args, *kwargs.values()))
    for one in (*args, *kwargs.values()):
        if isinstance(one, types.FunctionType) and not session.provenance.is_external(one):
            raise UnsupportedCall(
                f"the cached function `{function.__name__}` is called with a function that the "
                "call creates, which its cache compares by identity",
                fix="define that function outside",
            )  # fmt: skip
    _refuse_tensors(function, (*args, *kwargs.values()))
    is_outside = session.provenance.is_external(function)
    if not is_outside and _is_of_the_capture(function.__wrapped__):
        return _remembered(session, function, args, kwargs)
    is_inner = session.reads.heard is not None  # a use of the function around it, which counts
    holds = functools.partial(_is_held, session)
    known = all(map(holds, (*args, *kwargs.values())))
    is_first = known and not is_inner and _is_first(session, function)
    number = 0 if is_inner else note_use(session, function, args, kwargs, holds)
    if known and is_first and (is_bounded(function) or entry_of(function, args, kwargs) is NOTHING):
        return _asked(session, function, number)
    if known and entry_of(function, args, kwargs) is not NOTHING:
        return _from_the_cache(session, function, args, kwargs)
    session.unasked.add(id(function))
    done = len(session.recorder.scope.block.ops)
    journal, noted = session.journal, session.journal.count
    with _hearing(session) as heard:
        result = session.interpreter.call(function.__wrapped__, *args, **kwargs)
    _refuse_output(session, function, done)
    new = {id(obj) for obj in journal.noted_after(noted) if _is_seen(session, obj)}
    if new and journal.changed_so_far(only=lambda obj: id(obj) in new):
        raise UnsupportedCall(
            f"the cached function `{function.__name__}` changes an object outside, which only its "
            "first call with these arguments does",
            fix="change it outside the cached function",
        )  # fmt: skip
    _refuse_changing(session, function, heard)
    return result


def _check_hashable(values: Iterable[object]) -> None:
    """Python's own error for arguments that cannot be in the key of a cache."""
    for value in values:
        if type(value) is tuple:
            _check_hashable(value)
        elif type(value).__hash__ is None and not isinstance(value, SYMBOLIC):
            raise TypeError(f"unhashable type: '{python_name(value)}'")


def _is_held(session: Session, value: object) -> bool:
    """Is it the same at each run?"""
    return _is_known(value) or _is_outside(session, value)


def _is_first(session: Session, function: Cached) -> bool:
    """Has the capture changed nothing outside yet, and is it in no branch or loop?"""
    if session.recorder.depth or session.state_inputs.is_used or id(function) in session.unasked:
        return False
    return not session.journal.changed_so_far(only=lambda obj: _is_seen(session, obj))


def _is_seen(session: Session, obj: object) -> bool:
    """Is `obj` outside, and no cache?"""
    return not isinstance(session.stand_ins.original(obj), CacheLog) and not session.is_local(obj)


def _refuse_tensors(function: Cached, values: Iterable[object]) -> None:
    """An error if a tensor is among `values`: only a run knows whether the cache has seen it."""
    for value in values:
        if isinstance(value, torch.Tensor):
            raise UnsupportedCall(
                f"the cached function `{function.__name__}` is called with a tensor, which its "
                "cache compares by identity: after a write to the tensor it returns the old result",
                fix=f"call `{function.__name__}.__wrapped__`, without a cache",
            )  # fmt: skip
        if type(value) is tuple:
            _refuse_tensors(function, value)


def _refuse_output(session: Session, function: Cached, done: int) -> None:
    """An error if the body of `function`, recorded since op number `done`, prints and the like."""
    ops = with_inner_ops(session.recorder.scope.block.ops[done:])
    own = (op for op in ops if op.name != "host::note")  # which keeps uses of caches, too
    if any(kind_of(op) in SEEN or row_of(op.name).random for op in own):
        raise UnsupportedCall(
            f"the cached function `{function.__name__}` prints, calls Python or draws random "
            "numbers, which only its first call with these arguments does",
            fix="do it outside the cached function",
        )  # fmt: skip


@contextlib.contextmanager
def _hearing(session: Session) -> Iterator[Heard]:
    """What is read outside, inside the `with`."""
    outer, heard = session.reads.heard, Heard()
    session.reads.heard = heard
    try:
        yield heard
    finally:
        session.reads.heard = outer
        if outer is not None:
            outer |= heard


def _refuse_changing(session: Session, function: Cached, heard: Heard) -> None:
    """An error if the body of `function` has read what is not what an earlier call read."""
    before = _heard.setdefault(function, {})
    for key, (what, value) in _with_versions(session, heard).items():
        if value is ANY or not unchanged(before.setdefault(key, (what, value))[1], value):
            raise UnsupportedCall(
                f"the cached function `{function.__name__}` reads {what}, which changes: its cache "
                "may hold the result for an earlier value",
                fix="pass what it reads as an argument",
            )  # fmt: skip


def _with_versions(session: Session, heard: Heard) -> Heard:
    """`heard`, and of each tensor in it how often it was written: a guard of the program, too."""
    made = dict(heard)
    for what, value in heard.values():
        if isinstance(value, torch.Tensor):
            read = functools.partial(_version, weakref.ref(value))
            session.reads.watch(value, ("version",), read, read(), f"the contents of {what}")
            made[id(value), "version"] = (what, read())
    return made


def _version(of: Callable[[], torch.Tensor | None]) -> object:
    """How often a tensor has been written; torch does not count that of an inference tensor."""
    tensor = of()
    return ANY if tensor is None or tensor.is_inference() else tensor._version


def _is_of_the_capture(function: object) -> bool:
    """Does it use a value that only the capture, or a run, has?"""
    cells = getattr(function, "__closure__", None) or ()
    held = [value for cell in cells for value in state_of(cell).values()]
    return any(isinstance(one, SYMBOLIC | StagedContainer) or is_captured(one) for one in held)


def _remembered(session: Session, function: Cached, args: Args, kwargs: Keywords) -> Staged:
    """A call of a function that the capture has created: its cache lives as long as the call.

    What is known by then is not computed again; a run computes again what depends on its values.
    """
    call = functools.partial(session.interpreter.call, function.__wrapped__, *args, **kwargs)
    if not all(map(_is_known, (*args, *kwargs.values()))):
        return call()
    known = session.remembered.setdefault(id(function), (function, {}))[1]
    key = (args, tuple(kwargs.items()))
    found = known.get(key)
    if found is None or not found.holds(session.recorder):
        result, scope = call(), session.recorder.scope
        found = known[key] = Remembered(result, scope, len(scope.block.ops))
    return found.result


class Remembered:
    """What a call has given: it holds where the block that made it is seen."""

    def __init__(self, result: Staged, scope: Scope, length: int) -> None:
        self.result, self.scope, self.length = result, scope, length
        self.last = scope.block.ops[length - 1] if length else None

    def holds(self, recorder: Recorder) -> bool:
        """Is the current block that one, or inside it, and has nothing of it been undone?"""
        ops = self.scope.block.ops
        return any(scope is self.scope for scope in recorder.scope.chain()) and (
            self.last is None or (len(ops) >= self.length and ops[self.length - 1] is self.last)
        )


def _is_known(value: object) -> bool:
    return all(map(_is_known, value)) if type(value) is tuple else isinstance(value, KNOWN)


def _is_outside(session: Session, value: object) -> bool:
    """Is it an object of the caller's, which a cache finds again by its identity?"""
    plain = type(value).__hash__ is object.__hash__ and not isinstance(value, StagedContainer)
    return plain and session.provenance.is_external(value)


def _asked(session: Session, function: Cached, number: int) -> Staged:
    """What the cache gives, at the place in the order of its uses that eager code has for it."""
    log = log_of(function)
    place = session.cache_uses[id(log)] = session.cache_uses.get(id(log), -1) + 1
    with session.recorder.real():
        result = log.asked_ahead(place, number)

    def gives_the_same() -> bool:  # a use of the cache: only a call that may use the program asks
        now = log.asked_ahead(place, number)
        return now.is_like(result) if isinstance(now, CachedFailure) else unchanged(now, result)

    session.reads.live(gives_the_same, _cached_by(function), gives_the_same, kind=True)
    if isinstance(result, CachedFailure):
        raise result.error
    session.provenance.add_external(result)
    return session.staged(result)


def _from_the_cache(session: Session, function: Cached, args: Args, kwargs: Keywords) -> Staged:
    """What the cache holds."""
    result = entry_of(function, args, kwargs)
    if is_bounded(function):
        session.unasked.add(id(function))
    session.provenance.add_external(function)
    session.reads.watch(
        function, ("cache", args, tuple(kwargs.items())),
        functools.partial(entry_of, function, args, kwargs), result, _cached_by(function),
    )  # fmt: skip
    session.provenance.add_external(result)
    return session.staged(result)


def _cached_by(function: Cached) -> str:
    return f"what {function.__name__} has cached"
