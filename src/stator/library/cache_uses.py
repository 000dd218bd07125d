"""How programs use the caches of `functools.cache` and `lru_cache`, which count their uses.

The uses of one run are a list, `CacheLog`, which is state of the caller's: each use appends its
arguments, as converted code would. After the run each of them asks the cache, in order, and the
list is empty again. What a capture or a guard has asked for by then is not asked for again.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from stator.state.session import Session
from stator.values.annotations import Args, Keywords

Cached: TypeAlias = "functools._lru_cache_wrapper[Any]"
NOTHING = object()  # the cache has no answer
_logs: weakref.WeakKeyDictionary[Cached, CacheLog] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Hole:
    """The place of an argument that each run has a value for."""


HOLE = Hole()


@dataclass(frozen=True)
class CacheQuestion:
    """The arguments of a use, with holes."""

    args: Args
    kwargs: Keywords

    def ask(self, function: Cached, values: Iterable[object]) -> object:
        """What the cache gives for these `values`."""
        left = iter(values)
        args = [next(left) if one is HOLE else one for one in self.args]
        kwargs = {key: next(left) if one is HOLE else one for key, one in self.kwargs.items()}
        return function(*args, **kwargs)

    def is_same(self, other: CacheQuestion) -> bool:
        """Do they ask for the same, with arguments of the same types?"""
        if len(self.args) != len(other.args) or list(self.kwargs) != list(other.kwargs):
            return False
        one, two = (*self.args, *self.kwargs.values()), (*other.args, *other.kwargs.values())
        return all(a is b or (type(a) is type(b) and a == b) for a, b in zip(one, two, strict=True))


class CachedFailure:
    """What a cached function raises, which its cache does not keep."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def is_like(self, other: object) -> bool:
        """Does `other` raise the same?"""
        if not isinstance(other, CachedFailure) or type(self.error) is not type(other.error):
            return False
        return self.error.args == other.error.args


class CacheLog(list[Any]):
    """The uses of a cache since the call began; asks for all of them as soon as it is filled."""

    def __init__(self, function: Cached) -> None:
        self.function = weakref.ref(function)
        self.questions: list[CacheQuestion] = []
        self.ahead: list[tuple[int, object]] = []  # asked for the sake of uses to come

    def number_of(self, question: CacheQuestion) -> int:
        """Its place among the questions."""
        found = (k for k, other in enumerate(self.questions) if other.is_same(question))
        number = next(found, len(self.questions))
        if number == len(self.questions):
            self.questions.append(question)
        return number

    def asked_ahead(self, place: int, number: int) -> object:
        """The entry of a use: the one at `place` among the lookups that are made in advance."""
        if place < len(self.ahead) and self.ahead[place][0] == number:
            return self.ahead[place][1]
        function = self.function()
        assert function is not None
        try:
            result = self.questions[number].ask(function, ())
        except Exception as error:  # noqa: BLE001  # the use raises it, at its place
            result = CachedFailure(error)
        self.ahead.append((number, result))
        return result

    def extend(self, uses: Iterable[Any]) -> None:
        """Ask for `uses`, which are numbers of questions, and values for their holes."""
        function = self.function()
        for number, *values in uses:
            known = next((one for one in self.ahead if one[0] == number and not values), None)
            if known is not None:
                self.ahead.remove(known)
            elif function is not None:
                with contextlib.suppress(Exception):  # the run has raised it, at its place
                    self.questions[number].ask(function, values)


def log_of(function: Cached) -> CacheLog:
    """The uses of `function`."""
    return _logs.setdefault(function, CacheLog(function))


def note_use(session: Session, function: Cached, args: Args, kwargs: Keywords, known: Any) -> int:
    """Each run that comes here uses the cache once more; the number of its question."""
    log = log_of(function)
    session.provenance.add_external(log)
    values = [one for one in (*args, *kwargs.values()) if not known(one)]
    question = CacheQuestion(
        tuple(one if known(one) else HOLE for one in args),
        {key: one if known(one) else HOLE for key, one in kwargs.items()},
    )
    number = log.number_of(question)
    uses = session.stand_in(log)
    session.interpreter.call(session.interpreter.get(uses, "append"), (number, *values))
    return number


def is_bounded(function: Cached) -> bool:
    """May the cache forget an answer, so that the order of its uses counts?"""
    return function.cache_parameters()["maxsize"] is not None


def entry_of(function: Cached, args: Args, kwargs: Keywords) -> object:
    """What the cache would answer, without a use of it; or `NOTHING`.

    Keys are looked up as CPython makes them.
    """
    held = gc.get_referents(function)
    (table,) = [one for one in held if type(one) is dict and one is not vars(function)]
    typed = function.cache_parameters()["typed"]
    if not kwargs and not typed:
        key = args[0] if len(args) == 1 and type(args[0]) in (int, str) else args
        keys = [one for one in table if one is key or one == key] if key in table else []
    else:
        named = [part for pair in kwargs.items() for part in pair]
        types = [type(one) for one in (*args, *kwargs.values())] if typed else []
        key = (*args, *([None] if kwargs else []), *named, *types)  # None: a mark of CPython's own
        mark = len(args) if kwargs else None
        keys = [one for one in table if type(one) is tuple and _is_key(one, key, mark)]
    if not keys:
        return NOTHING
    return _listed(held, table)[id(keys[0])] if is_bounded(function) else table[keys[0]]


def _listed(held: list[Any], table: dict[Any, Any]) -> dict[int, object]:
    """The results in a bounded cache, by the id of the key: `held` has each after its key."""
    keys, found, items = {id(one) for one in table}, {}, iter(held)
    for one in items:
        if one is table:
            break
        if id(one) in keys:
            found[id(one)] = next(items)
    return found


def _is_key(one: tuple[Any, ...], key: tuple[Any, ...], mark: int | None) -> bool:
    return len(one) == len(key) and all(
        k == mark or a == b for k, (a, b) in enumerate(zip(one, key, strict=True))
    )
