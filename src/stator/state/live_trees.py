"""Live trees: containers on `self` that a program reads before each run.

A function that makes a new tuple, list, dict or object at every call and keeps it
(`self.cache = (keys, values)`) finds another one at the next. Its tensors and numbers become
inputs, as those of an argument do: during the capture a copy of the same form, made of symbolic
values, is in the place. What the call does to the copy, it does to the container that is there
when it is called.

Only a container that no one else holds is read so: by another name it would be seen as it was.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from stator.capture.flatten import ValueBuilder, new_leaves
from stator.program.ir import Value
from stator.program.layout import leaves, nodes, zip_layouts
from stator.state.live_lists import item_kind, joined_items
from stator.state.session import Session
from stator.state.slots import Slot
from stator.values.containers import DICT, LIST, OBJECT, TUPLE, Containers, is_plain_class
from stator.values.kinds import (
    ContainerKind,
    Exact,
    Kind,
    ListKind,
    NumberKind,
    TensorKind,
    column_types,
)
from stator.values.staged import StagedDict, exactly

CONSTANTS = (bool, str, type(None), torch.dtype, torch.device)
KEYS = (str, int, bool)
DEPTH = 6  # of containers in containers
TREES = Containers(
    TUPLE, exactly(LIST, list), exactly(DICT, dict, StagedDict),
    replace(OBJECT, covers=lambda cls: is_plain_class(cls) and not issubclass(cls, list | dict)),
)  # fmt: skip


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

    def leaves(self) -> tuple[object, ...]:
        """The tensors and numbers that the program takes of it."""
        return tuple(_leaves(self.kind, self.place.read()))

    def is_same_place(self, other: object) -> bool:
        """Is `other` this place, whatever is known of what it holds?"""
        return self.place.is_same_place(other)

    def in_words(self) -> str:
        """How an error or a reason calls it."""
        return self.place.in_words()

    @property
    def has_open_list(self) -> bool:
        """Is there a list in it whose length only a run knows?"""
        return any(isinstance(node, ListKind) for node in nodes(self.kind))


@dataclass(frozen=True)
class HeldContainer:
    """A container in a tree: every call has one of its own there."""

    slot: TreeSlot
    path: tuple[Any, ...]

    def find(self, _: tuple[object, ...]) -> Any:
        """The one that is there now, whatever the call is given."""
        return TREES.get(self.slot.read(), self.path)


def tree_slot_for(place: Slot, known: Sequence[object]) -> TreeSlot | None:
    """A slot for what `place` holds; None if that cannot be an input."""
    if not _is_alone(place):
        return None
    kind = _kind_of(place.read(), set(), DEPTH)
    if kind is None or not _has_leaves(kind):
        return None
    for other in known:
        if isinstance(other, TreeSlot) and other.is_same_place(place):
            kind = _joined(other.kind, kind) or kind
    return TreeSlot(Slot(place.owner, place.key), kind)


def install_tree(session: Session, slot: TreeSlot, values: list[Value]) -> None:
    """A symbolic copy is in the place for the time of the capture."""
    session.provenance.add_external(slot.owner)
    session.note(slot.owner)  # the journal puts it back
    inputs = new_leaves(session.recorder, slot.kind)
    for value in inputs:
        value.name = f"state_{len(values)}"
        values.append(value)

    def hold(container: object, path: tuple[object, ...]) -> None:
        session.state_inputs.add_container(container, HeldContainer(slot, path))

    copy = ValueBuilder(session.recorder, iter(inputs), hold, is_joined=False).build(slot.kind)
    session.reads.live(copy, slot.in_words(), lambda: _fits(slot.kind, slot.read()), True)
    slot.place.write(copy)
    session.state_inputs.add(slot, copy)


# ---- the kind of what a place holds


def _kind_of(value: object, seen: set[int], depth: int) -> Kind | None:
    if isinstance(value, CONSTANTS):
        return Exact(value)
    if id(value) in seen and isinstance(value, torch.Tensor):
        return None  # the same tensor twice
    seen.add(id(value))
    if type(value) in (int, float) or isinstance(value, torch.Tensor):
        return item_kind(value)
    return _container_kind(value, seen, depth - 1) if depth else None


def _container_kind(value: object, seen: set[int], depth: int) -> Kind | None:
    entry = TREES.of(value)
    if entry is None or (entry is not TUPLE and not _holds_alone(value)):
        return None
    keys, items = entry.parts(value)
    if entry.name == "dict" and not all(isinstance(key, KEYS) for key in keys):
        return None
    kinds = [_kind_of(item, seen, depth) for item in items]
    known = tuple(kind for kind in kinds if kind is not None)
    if len(known) < len(kinds):
        return None
    cls = StagedDict if entry.name == "dict" else type(value)
    return ContainerKind(cls, known, keys if entry.name in ("dict", "object") else None)


def _joined(one: Kind, other: Kind) -> Kind | None:
    """The kind of both, with sizes and lengths that differ left open; None if there is none."""
    return zip_layouts(_join, one, other)


def _join(one: Kind, other: Kind) -> Kind | None:
    """The kind of two leaves, or of two lists that differ in length."""
    if isinstance(one, TensorKind | NumberKind) and isinstance(other, TensorKind | NumberKind):
        return joined_items(one, other)
    if _is_list(one) and _is_list(other):
        return _joined_lists([*_items(one), *_items(other)])
    return one if one == other else None


def _joined_lists(items: list[Kind]) -> Kind | None:
    item = items[0] if items else None
    for kind in items[1:]:
        item = None if item is None else _joined(item, kind)
    if item is None or any(map(_can_change, nodes(item))) or not _has_leaves(item):
        return None
    return ListKind(item)


def _is_list(kind: Kind) -> bool:
    return isinstance(kind, ListKind) or (isinstance(kind, ContainerKind) and kind.type is list)


def _items(kind: Kind) -> tuple[Kind, ...]:
    """The kinds of a list's items."""
    assert isinstance(kind, ListKind | ContainerKind)
    return (kind.item,) if isinstance(kind, ListKind) else kind.items


def _can_change(kind: Kind) -> bool:
    """Is it a mutable container? A list of the program would hold a copy."""
    return _is_list(kind) or (isinstance(kind, ContainerKind) and kind.keys is not None)


def _has_leaves(kind: Kind) -> bool:
    return any(isinstance(leaf, TensorKind | NumberKind) for leaf in leaves(kind))


# ---- before a run


def _leaves(kind: Kind, value: Any) -> Iterator[Any]:
    if isinstance(kind, TensorKind | NumberKind):
        yield value
    elif isinstance(kind, ListKind):
        rows = [tuple(_leaves(kind.item, item)) for item in value]
        yield from (list(column) for column in zip(*rows, strict=True)) if rows else (
            [] for _ in column_types(kind.item)
        )  # fmt: skip
    elif isinstance(kind, ContainerKind):
        parts = TREES.parts(value)
        for item, part in zip(kind.items, parts.items if parts else (), strict=True):
            yield from _leaves(item, part)


def _fits(kind: Kind, value: object) -> bool:
    """Is `value` of this kind?"""
    if isinstance(kind, Exact):
        return type(value) is type(kind.value) and bool(value == kind.value)
    if isinstance(kind, TensorKind | NumberKind):
        return joined_items(kind, item_kind(value)) == kind
    if isinstance(kind, ListKind):
        return type(value) is list and all(_fits(kind.item, item) for item in value)
    assert isinstance(kind, ContainerKind)
    cls = dict if kind.type is StagedDict else kind.type
    if type(value) is not cls:
        return False
    parts = TREES.parts(value)
    return (
        parts is not None
        and parts.keys == tuple(kind.named)
        and all(map(_fits, kind.items, parts.items))
    )


# ---- who else holds it


def _refcount(holder: object, key: object) -> int:
    """The reference count of `holder[key]`, including this call's own references."""
    return sys.getrefcount(TREES.get(holder, (key,)))


ALONE = _refcount({"key": []}, "key")


def _holds_alone(holder: object) -> bool:
    """Does no one else hold any of the containers in `holder`?"""
    shared = (*CONSTANTS, int, float, torch.Tensor, tuple)
    pairs = zip(*(TREES.parts(holder) or ((), ())), strict=True)
    keys = [key for key, item in pairs if not isinstance(item, shared)]
    del pairs  # it refers to the items
    return all(_refcount(holder, key) <= ALONE for key in keys)


def _is_alone(place: Slot) -> bool:
    held = {"key": place.read()}
    return isinstance(held["key"], tuple) or _refcount(held, "key") <= ALONE + 1
