"""Live trees: containers on `self` that a program reads anew before each run.

A function that makes a new tuple, list, dict or object at every call and keeps it
(`self.cache = (keys, values)`) finds another one at the next. Its tensors and numbers become
inputs, as those of an argument do: during the capture a copy of the same form, made of symbolic
values, stands in the place. What the call does to the copy, it does to the container that is there
when it is called.

Only a container that nobody else holds is read so: by another name it would be seen as it was.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from stator.capture.carry import container_of
from stator.capture.kinds import (
    Exact,
    Kind,
    ListKind,
    MapKind,
    NumberKind,
    ObjectKind,
    SequenceKind,
    TensorKind,
    column_types,
    is_plain_object,
)
from stator.capture.values import Columns, StagedDict, StagedList
from stator.program.ir import Value
from stator.program.types import ListType, NumberType
from stator.staging.live_lists import item_kind, joined_items
from stator.staging.session import Session
from stator.staging.slots import Slot

CONSTANTS = (bool, str, type(None), torch.dtype, torch.device)
KEYS = (str, int, bool)
DEPTH = 6  # of containers in containers


@dataclass(frozen=True)
class TreeSlot:
    """A place, and the form of what it holds, as far as that has stayed the same."""

    place: Slot
    kind: Kind

    @property
    def owner(self) -> Any:
        """The object that has the place."""
        return self.place.owner

    @property
    def key(self) -> Any:
        """Its name there."""
        return self.place.key

    def read(self) -> Any:
        """What it holds now."""
        return self.place.read()

    def leaves(self) -> tuple[Any, ...]:
        """The tensors and numbers that the program takes of it."""
        return tuple(_leaves(self.kind, self.place.read()))

    def is_same_place(self, other: Any) -> bool:
        """Is `other` this place, whatever is known of what it holds?"""
        return self.place.is_same_place(other)

    def in_words(self) -> str:
        """How an error or a reason calls it."""
        return self.place.in_words()

    @property
    def has_open_list(self) -> bool:
        """Is there a list in it whose length only a run knows?"""
        return _has_open_list(self.kind)


@dataclass(frozen=True)
class Held:
    """A container in a tree: every call has one of its own there."""

    slot: TreeSlot
    path: tuple[Any, ...]

    def find(self, _: tuple[Any, ...]) -> Any:
        """The one that is there now, whatever the call is given."""
        return functools.reduce(_part, self.path, self.slot.read())


def tree_slot_for(place: Slot, known: Sequence[Any]) -> TreeSlot | None:
    """A slot for what `place` holds; None if that cannot be an input."""
    if not _is_alone(place):
        return None
    kind = _kind_of(place.read(), set(), DEPTH)
    if kind is None or isinstance(kind, Exact) or not any(_leaf_kinds(kind)):
        return None
    for other in known:
        if isinstance(other, TreeSlot) and other.is_same_place(place):
            kind = _joined(other.kind, kind) or kind
    return TreeSlot(Slot(place.owner, place.key), kind)


def install_tree(session: Session, slot: TreeSlot, values: list[Value]) -> None:
    """A symbolic copy stands in the place for the time of the capture."""
    session.guards.own(slot.owner)
    session.note(slot.owner)  # the journal puts it back
    copy = _Builder(session, slot, values).build(slot.kind, ())
    session.guards.live(copy, slot.in_words(), lambda: _fits(slot.kind, slot.read()), True)
    slot.place.write(copy)
    session.installed.append((slot, copy))


# ---- forms


def _kind_of(value: Any, seen: set[int], depth: int) -> Kind | None:
    if isinstance(value, CONSTANTS):
        return Exact(value)
    if id(value) in seen and isinstance(value, torch.Tensor):
        return None  # the same tensor twice
    seen.add(id(value))
    if type(value) in (int, float) or isinstance(value, torch.Tensor):
        return item_kind(value)
    if depth == 0:
        return None
    return _container_kind(value, seen, depth - 1)


def _container_kind(value: Any, seen: set[int], depth: int) -> Kind | None:
    keys, items = _parts(value)
    if not isinstance(value, tuple) and not all(_held_once(value, key) for key in keys):
        return None
    kinds: list[Kind] = []
    for item in items:
        kind = _kind_of(item, seen, depth)
        if kind is None:
            return None
        kinds.append(kind)
    if isinstance(value, tuple) or type(value) is list:
        return SequenceKind(type(value), tuple(kinds))
    if type(value) is dict and all(isinstance(key, KEYS) for key in keys):
        return MapKind(dict, tuple(keys), tuple(kinds))
    if is_plain_object(value) and not isinstance(value, dict | list):
        return ObjectKind(type(value), tuple(keys), tuple(kinds))
    return None


def _parts(value: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    """The keys of a container, or the positions in it, and what it has there."""
    if isinstance(value, tuple | list):
        return range(len(value)), value
    named = value if isinstance(value, dict) else getattr(value, "__dict__", {})
    return list(named), list(named.values())


def _part(value: Any, key: Any) -> Any:
    return value[key] if isinstance(value, tuple | list | dict) else vars(value)[key]


def _joined(one: Kind, other: Kind) -> Kind | None:
    """The form of both, with sizes and lengths that differ left open; None if there is none."""
    if isinstance(one, TensorKind | NumberKind) and isinstance(other, TensorKind | NumberKind):
        return joined_items(one, other)
    if _is_list(one) and _is_list(other) and _length(one) != _length(other):
        return _joined_lists([*_items(one), *_items(other)])
    if isinstance(one, ListKind):
        return _joined_lists([one.item, *_items(other)]) if isinstance(other, ListKind) else None
    if type(one) is not type(other) or isinstance(one, Exact):
        return one if one == other else None
    return _joined_containers(one, other)


def _joined_containers(one: Any, other: Any) -> Kind | None:
    same_keys = getattr(one, "keys", None) == getattr(other, "keys", None)
    if one.type is not other.type or not same_keys or len(one.items) != len(other.items):
        return None
    items = [_joined(a, b) for a, b in zip(one.items, other.items, strict=True)]
    if any(item is None for item in items):
        return None
    new: Kind = replace(one, items=tuple(items))
    return new


def _joined_lists(items: list[Kind]) -> Kind | None:
    item = items[0] if items else None
    for kind in items[1:]:
        item = None if item is None else _joined(item, kind)
    if item is None or _has_containers(item) or not any(_leaf_kinds(item)):
        return None
    return ListKind(item)


def _is_list(kind: Kind) -> bool:
    return isinstance(kind, ListKind) or (isinstance(kind, SequenceKind) and kind.type is list)


def _length(kind: Kind) -> int | None:
    return len(kind.items) if isinstance(kind, SequenceKind) else None


def _items(kind: Kind) -> tuple[Kind, ...]:
    if isinstance(kind, ListKind):
        return (kind.item,)
    return kind.items if isinstance(kind, SequenceKind | MapKind | ObjectKind) else ()


def _has_containers(kind: Kind) -> bool:
    """Is there anything in it that can be changed? A list of the program would hold a copy."""
    if isinstance(kind, ListKind | MapKind | ObjectKind) or _is_list(kind):
        return True
    return any(map(_has_containers, _items(kind)))


def _has_open_list(kind: Kind) -> bool:
    return isinstance(kind, ListKind) or any(map(_has_open_list, _items(kind)))


def _leaf_kinds(kind: Kind) -> Iterator[Kind]:
    if isinstance(kind, TensorKind | NumberKind):
        yield kind
    for item in _items(kind):
        yield from _leaf_kinds(item)


# ---- before a run


def _leaves(kind: Kind, value: Any) -> Iterator[Any]:
    if isinstance(kind, TensorKind | NumberKind):
        yield value
    elif isinstance(kind, ListKind):
        rows = [tuple(_leaves(kind.item, item)) for item in value]
        yield from (list(column) for column in zip(*rows, strict=True)) if rows else (
            [] for _ in column_types(kind.item)
        )  # fmt: skip
    elif not isinstance(kind, Exact):
        for item, part in zip(_items(kind), _parts(value)[1], strict=True):
            yield from _leaves(item, part)


def _fits(kind: Kind, value: Any) -> bool:
    """Is `value` of this form?"""
    if isinstance(kind, Exact):
        return type(value) is type(kind.value) and bool(value == kind.value)
    if isinstance(kind, TensorKind | NumberKind):
        return joined_items(kind, item_kind(value)) == kind
    if isinstance(kind, ListKind):
        return type(value) is list and all(_fits(kind.item, item) for item in value)
    if type(value) is not kind.type:  # type: ignore[union-attr]
        return False
    keys, parts = _parts(value)
    named: Any = getattr(kind, "keys", keys)
    return (
        len(parts) == len(_items(kind))
        and tuple(keys) == tuple(named)
        and all(map(_fits, _items(kind), parts))
    )


# ---- who else holds it


def _count(holder: Any, key: Any) -> int:
    """How many hold what `holder` has under `key`, and this function a few times."""
    return sys.getrefcount(_part(holder, key))


ALONE = _count({"key": []}, "key")


def _held_once(holder: Any, key: Any) -> bool:
    """Does nobody but `holder` hold the container that it has under `key`?"""
    part = _part(holder, key)
    shared = isinstance(part, (*CONSTANTS, int, float, torch.Tensor, tuple))
    del part
    return shared or _count(holder, key) <= ALONE


def _is_alone(place: Slot) -> bool:
    held = {"key": place.read()}
    return isinstance(held["key"], tuple) or _count(held, "key") <= ALONE + 1


# ---- the symbolic copy


@dataclass
class _Builder:
    session: Session
    slot: TreeSlot
    values: list[Value]

    def build(self, kind: Kind, path: tuple[Any, ...]) -> Any:
        """A symbolic value of this form."""
        if isinstance(kind, Exact):
            return kind.value
        if isinstance(kind, TensorKind | NumberKind):
            return self._leaf(kind)
        if isinstance(kind, ListKind):
            columns = tuple(self._input(ListType(one)) for one in column_types(kind.item))
            return self._held(container_of(Columns(kind.item, columns)), path)
        keys = getattr(kind, "keys", range(len(_items(kind))))
        pairs = zip(keys, _items(kind), strict=True)
        return self._container(kind, {key: self.build(one, (*path, key)) for key, one in pairs},
                               path)  # fmt: skip

    def _container(self, kind: Any, items: dict[Any, Any], path: tuple[Any, ...]) -> Any:
        if isinstance(kind, ObjectKind):
            cls: Any = kind.type
            made = cls.__new__(cls)
            vars(made).update(items)
            self.session.recorder.born(made)
            return self._held(made, path)
        if isinstance(kind, MapKind):
            return self._held(StagedDict(items), path)
        if kind.type is list:
            return self._held(StagedList(items.values()), path)
        return kind.type(*items.values()) if hasattr(kind.type, "_fields") else tuple(
            items.values())  # fmt: skip

    def _held(self, container: Any, path: tuple[Any, ...]) -> Any:
        self.session.held[id(container)] = (container, Held(self.slot, path))
        return container

    def _leaf(self, kind: TensorKind | NumberKind) -> Any:
        recorder = self.session.recorder
        if isinstance(kind, NumberKind):
            return recorder.number(kind.name, self._input(NumberType(kind.name)))
        sizes = [recorder.fresh_size() if size is None else size for size in kind.sizes]
        tensor = recorder.new_tensor(kind.dtype, sizes, kind.device, kind.requires_grad)
        recorder.bind(tensor, self._input(recorder.tensor_type(tensor)))
        return tensor

    def _input(self, value_type: Any) -> Value:
        value = self.session.recorder.new_value(value_type)
        value.name = f"state_{len(self.values)}"
        self.values.append(value)
        return value
