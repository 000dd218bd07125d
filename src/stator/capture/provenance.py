"""Provenance: which objects are external, which are local, and since when.

An external object existed before the capture: reads of it are guarded, writes to it are effects. A
local one was created by the capture. A block asks which objects it has created itself, because
those are part of its result rather than changed by it.
"""

from __future__ import annotations

import collections
import enum
import gc
import os
import sys
import types
from collections.abc import Callable, Iterable

from stator.capture.scope import Scope
from stator.values.pooled import Reference
from stator.values.staged import Locals, StagedContainer, StagedDict, StagedList, StagedSet, tick

IMMUTABLE = (bool, int, float, complex, str, bytes, type(None))
CONTAINERS = (list, dict, set, collections.deque)
METHODS = (types.MethodType, types.BuiltinMethodType)
EMPTY: dict[object, object] = {}
VIEWS = (type(EMPTY.keys()), type(EMPTY.values()), type(EMPTY.items()))
NOW = sys.maxsize  # later than any tick
BEFORE = 0  # earlier than any tick


def _held_for_good(obj: object) -> Iterable[object]:
    """What `obj` holds and can never let go of: reads of it are no guards."""
    if isinstance(obj, METHODS):
        return (obj.__self__,)
    if isinstance(obj, VIEWS):
        return gc.get_referents(obj)
    if isinstance(obj, enum.Enum):
        return (obj.value,)
    if isinstance(obj, BaseException):
        return obj.args
    return obj if isinstance(obj, frozenset | tuple) else ()


class Provenance:
    """Where the objects that one capture meets come from."""

    def __init__(self) -> None:
        # by id; the objects are kept, so that no id is used again. The environment is external
        # however it is reached.
        self._external: dict[int, object] = {id(os.environ): os.environ}
        self._created: dict[int, tuple[object, int]] = {}
        self._owners: dict[int, tuple[object, object]] = {}  # of dicts that hold attributes

    def add_external(self, obj: object) -> None:
        """`obj` existed before the capture, unless it is known to be new."""
        if not isinstance(obj, IMMUTABLE) and self.created_at(obj) == BEFORE:
            self._external[id(obj)] = obj
            for held in _held_for_good(obj):  # that existed before, too
                self.add_external(held)

    def is_external(self, obj: object) -> bool:
        """Is `obj` known to have existed before the capture?"""
        return id(obj) in self._external

    def external_containers(self) -> tuple[object, ...]:
        """The lists, dicts, sets and deques among the external objects."""
        return tuple(obj for obj in self._external.values() if isinstance(obj, CONTAINERS))

    def add_attributes(self, attributes: object, owner: object) -> None:
        """`attributes` is the `__dict__` of `owner`: one state, by whichever it is changed."""
        self._owners[id(attributes)] = (attributes, owner)

    def owner_of(self, obj: object) -> object:
        """The object whose `__dict__` `obj` is; any other `obj` itself."""
        return self._owners[id(obj)][1] if id(obj) in self._owners else obj

    def is_of_external(self, obj: object) -> bool:
        """Is it an external object, or the `__dict__` of one?"""
        return self.is_external(obj) or self.is_external(self.owner_of(obj))

    def add_created(self, obj: object) -> None:
        """User code has just created `obj`."""
        self._created[id(obj)] = (obj, tick())

    def add_part(self, part: object, whole: object) -> None:
        """`part` was made with `whole`, by the code of its class."""
        if self.is_known_new(whole) and not self.is_known_new(part):
            self._created[id(part)] = (part, self._created[id(whole)][1])

    def is_known_new(self, obj: object) -> bool:
        """Is it known when `obj` was created?"""
        return id(obj) in self._created

    def add_stand_in(self, obj: object) -> None:
        """`obj`, though new, represents an object from before the capture."""
        self._created[id(obj)] = (obj, BEFORE)

    def created_since(self, scope: Scope) -> Callable[[object], bool]:
        """Tells the objects that were created since `scope` was opened."""
        return lambda obj: self.created_at(obj) >= scope.start

    def is_local(self, obj: object, scope: Scope) -> bool:
        """Was `obj` created by the program that `scope` is in?

        No one outside can see it change.
        """
        return isinstance(obj, Locals) or self.created_at(obj) >= scope.program.start

    def created_at(self, obj: object) -> int:
        """When `obj` was created: `BEFORE` if it was before the capture."""
        if id(obj) in self._created:
            return self._created[id(obj)][1]
        if isinstance(obj, Reference) and not isinstance(obj, StagedContainer):
            return NOW  # what it refers to is an entry of a pool, which is noted as one
        return obj.created_at if isinstance(obj, StagedList | StagedDict | StagedSet) else BEFORE
