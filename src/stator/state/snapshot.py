"""Snapshot: cheap proof that nothing a guard depends on has changed.

    dicts        not written, as Python itself says
    objects      are of the class they were of
    functions    have the code and the defaults they had
    tensors      that are stored beside the program: dtype, sizes and the like
    the rest     cells, lists, and dicts that are written all the time: read again

All of it is checked in C++ (`runtime/python/snapshot.cpp`), by the interfaces of Python and torch:
some two microseconds for a model of a hundred modules. Without the extension there is no snapshot,
and everything is read again before each call, which takes such a model a millisecond. `make bench`
measures it.
"""

from __future__ import annotations

import gc
import operator
import time
import types
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import torch

from stator.extension import extension
from stator.state.holding import is_own, own_object

Check = Callable[[], bool]
MODULE_TABLES = ("_parameters", "_buffers", "_modules")
ABSENT = NotImplemented  # in the place of an attribute that is not there; the extension knows it


class WatchedRead(Protocol):
    """What a snapshot needs to know of a read."""

    @property
    def dicts(self) -> tuple[dict[object, object], ...] | None:
        """The dicts that decide it."""

    @property
    def owner(self) -> Any:
        """The object whose class decides it as well."""

    @property
    def key(self) -> Any:
        """The name of what was read, if it is an attribute."""

    @property
    def by_class(self) -> bool:
        """Does the class of the owner decide it, whatever the owner's attributes are?"""

    @property
    def tensor(self) -> torch.Tensor | None:
        """The stored tensor whose dtype, sizes and the like were read."""

    @property
    def function(self) -> Any:
        """The function whose code and defaults were used."""

    @property
    def check(self) -> Check:
        """A function: does it give what it gave?"""


class Watch(Protocol):
    """Holds the snapshot that is current; the entry of a call asks it."""

    def is_valid(self) -> bool:
        """Is there a snapshot, and has nothing changed since it was taken?"""


class BlindWatch:
    """Without the extension: nothing is known, so everything is read again."""

    def is_valid(self) -> bool:
        """No."""
        return False


def new_watch() -> Any:
    """A watch with no snapshot yet."""
    module = extension()
    return BlindWatch() if module is None else module.watch()


@dataclass(frozen=True, slots=True)
class Parts:
    """What reads go through, sorted by how a change is seen."""

    dicts: dict[int, dict[Any, Any]] = field(default_factory=dict)
    owners: dict[int, object] = field(default_factory=dict)
    functions: list[types.FunctionType] = field(default_factory=list)
    tensors: list[torch.Tensor] = field(default_factory=list)
    again: list[Check | AttributeCheck] = field(default_factory=list)

    def add(self, read: WatchedRead, often_written: Mapping[int, object], module: Any) -> None:
        """Sort `read` in; one that goes through a dict often written is read each time."""
        dicts = read.dicts
        if read.tensor is not None and module.can_watch(read.tensor):
            self.tensors.append(read.tensor)
        elif read.function is not None:
            self.functions.append(read.function)
        elif dicts is None or _has_another_dict(read):
            self.again.append(read.check)
        elif not (written := [one for one in dicts if id(one) in often_written]):
            self._watch(read.owner, dicts)
        elif (items := _items_of_owner(read, written)) is not None:
            self._watch(read.owner, [one for one in dicts if one is not written[0]])
            self.again.append(same_attributes(read.owner, items, read.check))
        else:
            self.again.append(read.check)

    def _watch(self, owner: object, dicts: Sequence[dict[Any, Any]]) -> None:
        self.dicts.update((id(one), one) for one in dicts)
        owners = (owner, *map(own_object, dicts))
        self.owners.update((id(one), one) for one in owners if one is not None)


def _items_of_owner(read: WatchedRead, written: Sequence[dict[Any, Any]]) -> tuple[str, ...] | None:
    """The items of the owner's `__dict__`, the only dict `written`, that alone decide the read."""
    owner, name = read.owner, read.key
    own = getattr(owner, "__dict__", None)
    cls: Any = type(owner)
    if type(name) is not str or len(written) != 1 or written[0] is not own:
        return None
    if cls.__getattribute__ is not object.__getattribute__:
        return None
    if name in own:
        return (name,)
    is_plain = isinstance(owner, torch.nn.Module) and cls.__getattr__ is torch.nn.Module.__getattr__
    return (name, *MODULE_TABLES) if is_plain else None


class AttributeCheck(NamedTuple):
    """A check that is not needed where some attributes are what they were.

    NOTE: the extension knows this tuple, and looks at the attributes itself.
    """

    owner: Any  # the object; or a weak reference to an own one
    names: tuple[str, ...]
    expected: tuple[object, ...]  # what is in the dict of the owner; a tensor by a weak reference
    by_type: bool  # are `expected` the types of the attributes?
    check: Check

    def __call__(self) -> bool:
        """Does it give what it gave?"""
        owner = self.owner() if type(self.owner) is weakref.ref else self.owner
        if owner is None:
            return self.check()
        now = [vars(owner).get(name, ABSENT) for name in self.names]
        if self.by_type:
            return all(map(operator.is_, map(type, now), self.expected)) or self.check()
        return all(map(_is_same, now, self.expected)) or self.check()


def same_attributes(owner: object, names: tuple[str, ...], check: Check) -> AttributeCheck:
    """`check`, which is not needed where these attributes are the very ones that they are now."""
    own = vars(owner)
    values = (_kept(own[name]) if name in own else ABSENT for name in names)
    return AttributeCheck(_loosely(owner), names, tuple(values), False, check)


def same_type(owner: object, name: object, value: object, check: Check) -> Check | AttributeCheck:
    """`check`, which is not needed where an attribute is of the type of `value`, which it is now.

    It is returned as it is where the dict of `owner` does not have the attribute.
    """
    own = None if isinstance(owner, type) else getattr(owner, "__dict__", None)
    if type(own) is not dict or type(name) is not str or own.get(name) is not value:
        return check
    return AttributeCheck(_loosely(owner), (name,), (type(value),), True, check)


def _kept(value: object) -> object:
    if isinstance(value, torch.Tensor):  # one that is replaced is not kept alive
        return weakref.ref(value)
    is_odd = type(value) is weakref.ref or value is ABSENT
    return object() if is_odd else value  # what is odd is read again each time


def _is_same(now: object, kept: object) -> bool:
    if type(kept) is weakref.ref:
        return now is not None and now is kept()
    return now is kept


def _has_another_dict(read: WatchedRead) -> bool:
    """Was the `__dict__` of the object that was read replaced since the capture?"""
    if read.by_class:
        return False
    own = getattr(read.owner, "__dict__", None)
    return type(own) is dict and all(own is not one for one in read.dicts or ())


class Snapshot:
    """A moment at which all reads gave what they gave in the capture.

    `is_valid()` says whether nothing has changed since, for certain, `written()` which dicts have
    been written since. Only where there is the extension.
    """

    def __init__(self, reads: Sequence[WatchedRead], often_written: Mapping[int, object]) -> None:
        module = extension()
        assert module is not None
        parts = Parts()
        for read in reads:
            parts.add(read, often_written, module)
        self.made = time.monotonic()
        self.native = module.snapshot(
            tuple(parts.dicts.values()), tuple(map(_loosely, parts.owners.values())),
            parts.functions, parts.tensors, parts.again,
        )  # fmt: skip
        self.is_valid: Check = self.native.is_valid
        self.written: Callable[[], list[dict[Any, Any]]] = self.native.written


def _loosely(owner: object) -> Any:
    """An own object holds its snapshots, which must not hold it."""
    return weakref.ref(owner) if is_own(owner) else owner


def class_dicts(cls: type) -> tuple[dict[object, object], ...]:
    """The dicts of `cls` and its bases, `object` left out.

    `__dict__` of a class is a proxy, and only the dict behind it can be watched.
    """
    return tuple(gc.get_referents(vars(base))[0] for base in cls.__mro__[:-1])
