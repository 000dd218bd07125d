"""References: lists, dicts, sets and objects that are known by reference, as Python knows its own.

A *pool* is a runtime list of contents, one entry for each container in it. What user code has is a
handle, which knows the number of its entry; what a runtime list holds is that number. So a change
is seen by every name that the container has. `values/sites.py` tells which containers are pooled.
"""

from __future__ import annotations

import abc
import dataclasses
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from stator.errors import UnsupportedCall
from stator.values.containers import is_plain_class
from stator.values.kinds import AnyPool
from stator.values.slotted import HEAP_TYPE
from stator.values.staged import (
    Columns,
    StagedContainer,
    StagedDefaultDict,
    StagedDeque,
    StagedDict,
    StagedList,
    StagedOrderedDict,
    StagedSet,
)

OF_ATTRIBUTES = ("__getattr__", "__getattribute__", "__setattr__", "__delattr__")


class Cells(AnyPool, Protocol):
    """A pool, as its handles know it (`containers.pools.Pool`)."""

    cells: StagedList  # the contents of every container in the pool

    def load(self, at: Any) -> Columns:
        """The contents of entry `at`."""

    def store(self, at: Any, contents: Columns | None) -> None:
        """Make `contents` those of entry `at`; None empties it."""


class Rows(Cells, Protocol):
    """A pool of objects, as their handles know it (`containers.pools.ObjectPool`)."""

    names: tuple[str, ...]  # the attributes of each

    def row(self, at: Any) -> dict[str, Any]:
        """The attributes of the object that is entry `at`."""

    def set_attribute(self, at: Any, name: str, value: object) -> None:
        """`entry.name = value`."""


class Reference:
    """A handle: it represents a container or an object whose contents are an entry of a pool."""


def pool_of(handle: Reference) -> Cells:
    """The pool that `handle` refers to."""
    pool: Cells = object.__getattribute__(handle, "__dict__")["pool"]
    return pool


def entry_of(handle: Reference) -> Any:
    """The number of its entry."""
    return object.__getattribute__(handle, "__dict__")["at"]


def key_of(handle: Reference) -> object:
    """The same for handles that are known to be one container."""
    at = entry_of(handle)
    return at if isinstance(at, int) else at.node.expr


class Pooled(Reference, StagedContainer):
    """A handle for a container whose contents are entry `at` of `pool`."""

    pool: Cells
    at: Any
    is_open = True

    @property
    def columns(self) -> Columns | None:
        """The contents, as the pool has them now."""
        return self.pool.load(self.at)

    @columns.setter
    def columns(self, contents: Columns | None) -> None:
        self.pool.store(self.at, contents)


class PooledList(Pooled, StagedList):
    """A list in a pool."""

    is_tuple = False


class PooledDeque(Pooled, StagedDeque):
    """A deque in a pool."""

    is_tuple = False


class PooledDict(Pooled, StagedDict):
    """A dict in a pool."""


class PooledDefaultDict(Pooled, StagedDefaultDict):
    """A defaultdict in a pool."""


class PooledOrderedDict(Pooled, StagedOrderedDict):
    """An OrderedDict in a pool."""


class PooledSet(Pooled, StagedSet):
    """A set in a pool."""


class PooledObject(Reference):
    """A handle for an object of a user's class, whose attributes are a row of `pool`."""

    def __getattribute__(self, name: str) -> Any:
        if name == "__dict__":  # to be read only: a change would be lost
            return types.MappingProxyType(_rows_of(self).row(entry_of(self)))
        if name in _rows_of(self).names:
            return _rows_of(self).row(entry_of(self))[name]
        return super().__getattribute__(name)

    def __setattr__(self, name: str, value: object) -> None:
        if is_frozen(self.__class__):
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        _rows_of(self).set_attribute(entry_of(self), name, value)

    def __delattr__(self, name: str) -> None:
        raise _unknown(self, "deletes an attribute of it")

    def __eq__(self, other: object) -> bool:
        raise _unknown(self, "compares it")

    def __hash__(self) -> int:
        raise _unknown(self, "needs its hash")

    def __reduce_ex__(self, protocol: object) -> Any:
        raise _unknown(self, "copies it")


def _rows_of(handle: PooledObject) -> Rows:
    rows: Rows = object.__getattribute__(handle, "__dict__")["pool"]
    return rows


def _unknown(handle: PooledObject, what: str) -> UnsupportedCall:
    return UnsupportedCall(
        f"a {handle.__class__.__name__} is in a list of data-dependent length, and code "
        f"that is not converted {what}",
        fix="use its attributes",
    )  # fmt: skip


def object_handle(cls: type) -> type:
    """The class of handles for instances of `cls`."""
    own = {"__class__": property(lambda _: cls), "__slots__": (), "__module__": cls.__module__}
    return type(cls.__name__, (PooledObject, cls), own)


def can_be_pooled(cls: type) -> bool:
    """Can instances of `cls` be known by reference: is all that they have in plain attributes?"""
    return (
        is_plain_class(cls)
        and type(cls) in (type, abc.ABCMeta)
        and "__init_subclass__" not in {name for base in cls.__mro__[:-1] for name in vars(base)}
        and all(base.__flags__ & HEAP_TYPE for base in cls.__mro__[:-1])
        and not any(_follows_attributes(base) for base in cls.__mro__[:-1])
    )


def is_frozen(cls: type) -> bool:
    """Does `@dataclass(frozen=True)` refuse to set its attributes?"""
    written = getattr(cls.__setattr__, "__code__", None)
    options = getattr(cls, "__dataclass_params__", None)
    return (
        written is not None
        and options is not None
        and options.frozen
        and (written.co_filename.startswith("<"))
    )


def _follows_attributes(cls: type) -> bool:
    """Has it a method of the user's that is called for its attributes?"""
    generated = {"__setattr__", "__delattr__"} if is_frozen(cls) else set()
    return any(name in vars(cls) and name not in generated for name in OF_ATTRIBUTES)


@dataclass(frozen=True)
class HandleMaker:
    """Makes the handles of one pool: for containers of one class, with the same options."""

    cls: Callable[..., Any]
    options: tuple[tuple[str, Any], ...] = ()

    def make(self, pool: Cells, at: object) -> Any:
        """The container that is entry `at` of `pool`."""
        handle: Any
        if isinstance(self.cls, type) and issubclass(self.cls, PooledObject):
            handle = object.__new__(self.cls)
        else:
            handle = self.cls(**dict(self.options))
        object.__getattribute__(handle, "__dict__").update(pool=pool, at=at)
        return handle


def handle_maker(container: StagedContainer) -> HandleMaker:
    """How handles for containers such as `container` are made."""
    if isinstance(container, StagedDeque):
        return HandleMaker(PooledDeque, (("maxlen", container.maxlen),))
    if isinstance(container, StagedDefaultDict):
        return HandleMaker(PooledDefaultDict, (("default_factory", container.default_factory),))
    if isinstance(container, StagedOrderedDict):
        return HandleMaker(PooledOrderedDict)
    if isinstance(container, StagedDict):
        return HandleMaker(PooledDict)
    return HandleMaker(PooledSet if isinstance(container, StagedSet) else PooledList)
