"""How often a program uses the caches of `functools.cache` and `lru_cache`, which count their uses.

A capture asks a cache for an answer once, and later runs have the answer. Each run then asks as
often as eager code would, by an effect: it takes items of a `CacheUses`. What a capture or a guard
has asked for is not asked for again.
"""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import Iterator
from typing import Any, TypeAlias

from stator.state.session import Session
from stator.values.annotations import Args, Keywords
from stator.values.symbolic import Moving

Cached: TypeAlias = "functools._lru_cache_wrapper[Any]"
NOTHING = object()  # the cache has no answer
UNKNOWN = object()  # whether the cache has the same answer as before
_uses: weakref.WeakKeyDictionary[Cached, dict[Any, CacheUses]] = weakref.WeakKeyDictionary()


class CacheUses(Iterator[None]):
    """Takes one item for each use of a cache with these arguments."""

    def __init__(self, function: Cached, args: Args, kwargs: Keywords) -> None:
        self.function, self.args, self.kwargs = weakref.ref(function), args, kwargs
        self.ahead = 0  # how often Stator has asked for the sake of runs to come

    def __next__(self) -> None:
        """Ask once, unless that has been done."""
        function = self.function()
        if self.ahead:
            self.ahead -= 1
        elif function is not None:
            function(*self.args, **self.kwargs)


class CountedUses(Moving):
    """How often the call that is captured uses a cache with some arguments."""

    what = "cache"

    def __init__(self, native: CacheUses) -> None:
        self.native, self.count = native, 0

    def moved(self) -> Any:
        """How often, a number of the program where that depends on the path."""
        return self.count


def uses_of(function: Cached, args: Args, kwargs: Keywords) -> CacheUses:
    """Those of `function` with these arguments."""
    found = _uses.setdefault(function, {})
    key = (args, tuple(kwargs.items()))
    if key not in found:
        found[key] = CacheUses(function, args, kwargs)
    return found[key]


def count_use(session: Session, function: Cached, args: Args, kwargs: Keywords) -> None:
    """Each run that comes here uses the cache once more."""
    native = uses_of(function, args, kwargs)
    if id(native) not in session.cache_uses:
        session.cache_uses[id(native)] = CountedUses(native)
        session.provenance.add_stand_in(session.cache_uses[id(native)])
    counted = session.cache_uses[id(native)]
    session.note(counted)
    counted.count = session.interpreter.arithmetic(counted.count, "+", 1)


def entry_of(function: Cached, args: Args, kwargs: Keywords) -> object:
    """What the cache holds for these arguments, without a use of it; or `NOTHING`, or `UNKNOWN`.

    A full cache puts a new answer into the place of an old one.
    """
    known = function.cache_info()
    return UNKNOWN if known.misses != known.currsize else _held(function, args, kwargs)


def has_answer(function: Cached, args: Args, kwargs: Keywords) -> bool:
    """Would the cache answer?"""
    return _held(function, args, kwargs) is not NOTHING


def _held(function: Cached, args: Args, kwargs: Keywords) -> object:
    """Keys are looked up as CPython makes them."""
    (table,) = [one for one in gc.get_referents(function)
                if type(one) is dict and one is not vars(function)]  # fmt: skip
    if not kwargs and not function.cache_parameters()["typed"]:
        key = args[0] if len(args) == 1 and type(args[0]) in (int, str) else args
        return table.get(key, NOTHING)
    named = [part for pair in kwargs.items() for part in pair]
    classes = [type(one) for one in (*args, *kwargs.values())]
    types = classes if function.cache_parameters()["typed"] else []
    key = (*args, *([None] if kwargs else []), *named, *types)  # None: a mark of CPython's own
    mark = len(args) if kwargs else None
    found = (table[one] for one in table if type(one) is tuple and _is_key(one, key, mark))
    return next(found, NOTHING)


def _is_key(one: tuple[Any, ...], key: tuple[Any, ...], mark: int | None) -> bool:
    return len(one) == len(key) and all(
        k == mark or a == b for k, (a, b) in enumerate(zip(one, key, strict=True))
    )
