"""Saved state: attributes of a model's modules that each run of a saved program reads and writes.

A counter, a cache, the last output: what a call leaves in an attribute, the next one finds there.
A saved program has no modules. So the attributes that calls change are inputs of the program, in
the form that covers everything they ever hold, and what they hold in the end are outputs. The form
is found as a loop finds that of what it carries: a capture says what it leaves, and if that is more
than it began with, everything is captured again with the wider form (`api/saved_states.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from stator.capture.blocks import describe_value, refuse_aliases
from stator.capture.flatten import ValueBuilder, flatten, new_leaves
from stator.capture.results import Results
from stator.english import with_article
from stator.errors import CaptureError
from stator.program.ir import Arg, Value
from stator.program.layout import map_parts
from stator.program.structure import Leaf, Structure
from stator.state.session import Session
from stator.state.slots import EMPTY, Slot
from stator.values.containers import (
    DICT,
    LIST,
    NAMED_TUPLE,
    OBJECT,
    TUPLE,
    Containers,
    is_plain_class,
)
from stator.values.contents import change
from stator.values.describe import tensor_kind, widen
from stator.values.kinds import (
    BOTTOM,
    SCALARS,
    ContainerKind,
    Exact,
    Kind,
    ListKind,
    TensorKind,
    leaf_types,
)
from stator.values.merge import TEXT, is_string, merge, signature, widen_growing
from stator.values.staged import StagedDict, exactly
from stator.values.symbolic import Undefined

KEYS = (bool, int, float, str, type(None))
FIXED = (Undefined, *(cls for cls in SCALARS if cls is not bytes))
DEPTH = 12  # of containers in containers
HELD = Containers(
    NAMED_TUPLE, exactly(TUPLE, tuple), exactly(LIST, list), exactly(DICT, dict),
    replace(OBJECT, covers=lambda cls: is_plain_class(cls) and not issubclass(cls, list | dict)),
)  # fmt: skip


class NotState(Exception):
    """What an attribute holds cannot be state; the text says what it is."""

    name: str  # of the attribute, once it is known


@dataclass(frozen=True)
class SavedSlot:
    """An attribute that is state: its name in the model, where it is, and the form it has."""

    name: str
    places: tuple[Slot, ...]  # several where they hold one and the same container
    kind: Kind

    def read(self) -> Any:
        """What the attribute is now; an Undefined where there is none."""
        found = self.places[0].read()
        return Undefined(str(self.places[0].key)) if found is EMPTY else found

    def write(self, value: object) -> None:
        """Make `value` what it is."""
        for place in self.places:
            if not isinstance(value, Undefined):
                place.write(value)
            elif place.read() is not EMPTY:
                change(place.owner, {}, (place.key,))


@dataclass(frozen=True)
class LeftState:
    """What a capture says of the state: the forms that it needs, and how each is put together."""

    kinds: tuple[Kind, ...]
    structures: tuple[Structure, ...]  # with positions among the values of each
    leaves: tuple[Arg, ...]  # what the program gives for all of them
    counts: tuple[int, ...]  # how many of these each has


class OwnState:
    """Marks a container that is part of the state: what is done to it is no effect."""

    def find(self, _: tuple[object, ...]) -> Any:
        """No call has it."""
        raise AssertionError("the state of a saved model is not the caller's")


OWN_STATE = OwnState()


class StateRecorder:
    """The state during one capture: symbolic values in its places, and what becomes of them."""

    def __init__(self, session: Session, slots: tuple[SavedSlot, ...], values: list[Value]) -> None:
        self.session, self.slots = session, slots
        session.is_kept = True  # the kinds that `finish` gives ask which objects are new
        self.inputs: list[Value] = []
        self._held: list[Any] = []
        self._wider = [slot.kind for slot in slots]
        self._has_noted = False
        for slot in slots:
            self._install(slot)
        values += self.inputs

    def _install(self, slot: SavedSlot) -> None:
        session = self.session
        for place in slot.places:
            session.provenance.add_external(place.owner)
            session.note(place.owner)  # the journal puts it back
        leaves = new_leaves(session.recorder, slot.kind)
        for number, value in enumerate(leaves):
            value.name = slot.name if len(leaves) == 1 else f"{slot.name}.{number}"
        self.inputs += leaves

        def hold(container: object, _: object) -> None:
            session.state_inputs.add_container(container, OWN_STATE)

        copy = ValueBuilder(session.recorder, iter(leaves), hold).build(slot.kind)
        session.reads.live(copy, slot.name, lambda: True, True)
        slot.write(copy)
        for place in slot.places if not isinstance(copy, Undefined) else ():
            session.state_inputs.add(place, copy)
        self._held.append(copy)

    def note(self) -> None:
        """Record the current state: the next op may raise."""
        values = [self._now(slot) for slot in self.slots]
        if not self._covers(values):
            return  # it will be captured again, in a wider form
        leaves = self._flat(values)
        if leaves != self.inputs or self._has_noted:
            self._has_noted = True
            self.session.recorder.emit("stator::note", tuple(leaves))

    def finish(self, results: Results, *, raises: bool = False) -> LeftState:
        """Read the places; the program gives what they hold, and they hold what they did at first.

        With `raises` the program never gets here.
        """
        leaves: list[Arg] = list(self.inputs)
        if not raises:
            values = [self._now(slot) for slot in self.slots]
            refuse_aliases(values, self._is_fresh)
            if self._covers(values):
                leaves = self._flat(values)
            for slot, copy in zip(self.slots, self._held, strict=True):
                self._check_others(slot)
                slot.write(copy)
        structures = tuple(_structure(results, slot.kind) for slot in self.slots)
        counts = tuple(len(list(leaf_types(slot.kind))) for slot in self.slots)
        return LeftState(tuple(self._wider), structures, tuple(leaves), counts)

    def _now(self, slot: SavedSlot) -> Any:
        value = slot.read()
        if any(other.read() is not value for other in slot.places[1:]):
            raise CaptureError(
                f"`{slot.name}` is replaced by another container, and other modules have the old "
                "one",
                fix="change its contents instead of replacing it",
            )  # fmt: skip
        return value

    def _covers(self, values: list[object]) -> bool:
        """Are the forms wide enough? They are made so for the next capture."""
        settled = True
        for number, (slot, value) in enumerate(zip(self.slots, values, strict=True)):
            kind = self._described(slot, value)
            if merged(slot.kind, kind) != slot.kind:
                settled = False
                self._wider[number] = merged(self._wider[number], kind)
        return settled

    def _described(self, slot: SavedSlot, value: object) -> Kind:
        try:
            return portable(describe_value(value, self._is_fresh), self._is_fresh)
        except NotState as found:
            raise not_state(slot.name, found) from None

    def _flat(self, values: list[Any]) -> list[Arg]:
        return [
            arg
            for slot, value in zip(self.slots, values, strict=True)
            for arg in flatten(self.session.recorder, value, slot.kind)
        ]

    def _is_fresh(self, obj: object) -> bool:
        is_own = self.session.state_inputs.finder_of(obj) is OWN_STATE
        return is_own or self.session.is_local(obj)

    def _check_others(self, slot: SavedSlot) -> None:
        """An error if the capture has reached what is in the place by another name."""
        session = self.session
        for place in slot.places:
            first = session.journal.first_state(place.owner) or {}
            original = first.get(place.key) if isinstance(first, dict) else None
            for container in containers_in(original):
                if session.provenance.is_external(container):
                    raise CaptureError(
                        f"`{slot.name}`, which a call changes, is also reached by another name",
                        at=session.journal.place_of(place.owner),
                        fix="use only the attribute of the module",
                    )


def not_state(name: str, found: NotState) -> CaptureError:
    """The refusal of something that is kept in an attribute."""
    found.name = name
    return CaptureError(
        f"a call changes `{name}`, and keeps {found} there, which a saved model cannot keep",
        fix="keep tensors, numbers, strings, None, and lists, tuples, dicts and plain objects "
            "of these",
    )  # fmt: skip


def merged(one: Kind, other: Kind) -> Kind:
    """The form that covers both."""
    return portable(widen_growing(merge(one, other)))


def portable(kind: Kind, fresh: object = lambda _: False) -> Kind:
    """`kind` without what only one capture knows: symbols of sizes, symbolic values, objects."""
    if isinstance(kind, Exact):
        if isinstance(kind.value, FIXED):
            return kind
        wide = widen(kind)
        if isinstance(wide, Exact):
            raise NotState(_named(kind.value))
        return portable(wide, fresh)
    if isinstance(kind, TensorKind):
        sizes = tuple(size if isinstance(size, int) else None for size in kind.sizes)
        return replace(kind, sizes=sizes)
    if isinstance(kind, ContainerKind):
        kind = replace(kind, frozen=None)
        if kind.type is set:
            raise NotState("a set")
    if isinstance(kind, ListKind):
        kind = replace(kind, frozen=None)
        if kind.form is set:
            raise NotState("a set")
    return map_parts(lambda part: portable(part, fresh), kind)


def _named(value: object) -> str:
    return f"a {type(value).__name__.removeprefix('Staged').lower()}" if not isinstance(
        value, type
    ) else "a class"  # fmt: skip


def kind_of_state(value: object, seen: dict[int, object] | None = None, depth: int = DEPTH) -> Kind:
    """The form of what an attribute holds when the model is saved; NotState if it has none."""
    seen = {} if seen is None else seen
    if isinstance(value, FIXED):
        return Exact(value)
    if isinstance(value, torch.Tensor):
        if type(value) is not torch.Tensor or value.layout is not torch.strided:
            raise NotState(f"{with_article(type(value).__name__)}, or a tensor of another layout,")
        return tensor_kind(value)
    entry = HELD.of(value)
    if entry is None or not depth:
        raise NotState(_named(value))
    if id(value) in seen and entry not in (NAMED_TUPLE, HELD.entries[1]):
        raise NotState(f"one {type(value).__name__} in two places")
    seen[id(value)] = value
    keys, items = entry.parts(value)
    if entry.name == "dict" and not all(isinstance(key, KEYS) for key in keys):
        raise NotState("a dict with other keys than numbers and strings")
    kinds = tuple(kind_of_state(item, seen, depth - 1) for item in items)
    named = entry.name in ("dict", "object")
    cls = StagedDict if entry.name == "dict" else type(value)
    return ContainerKind(cls, kinds, keys if named else None)


def parts_of(value: object, depth: int = DEPTH) -> Iterator[Any]:
    """What `value` holds, however deep inside."""
    entry = HELD.of(value)
    for item in entry.parts(value).items if entry is not None and depth else ():
        yield item
        yield from parts_of(item, depth - 1)


def containers_in(value: object) -> Iterator[object]:
    """The lists, dicts and objects that `value` is or holds."""
    for one in (value, *parts_of(value)):
        entry = HELD.of(one)
        if entry is not None and entry.name in ("list", "dict", "object"):
            yield one


def state_leaves(kind: Kind, value: Any) -> list[Any]:
    """The values that a run takes for an attribute of this form which holds `value`."""
    if isinstance(kind, Exact) or kind is BOTTOM:
        return []
    if isinstance(kind, ContainerKind):
        parts = HELD.parts(value)
        assert parts is not None
        pairs = zip(kind.items, parts.items, strict=True)
        return [leaf for item, part in pairs for leaf in state_leaves(item, part)]
    if isinstance(kind, ListKind):
        rows = [state_leaves(kind.item, item) or [0] for item in value]
        count = len(list(leaf_types(kind)))
        return [[row[k] for row in rows] for k in range(count)]
    alternatives = getattr(kind, "alternatives", None)
    if alternatives is None:
        return [value]
    mine = signature(kind_of_state(value))
    chosen = next(k for k, one in enumerate(alternatives) if _holds(signature(one), mine))
    leaves: list[Any] = [chosen]
    for number, one in enumerate(alternatives):
        absent = [None for _ in leaf_types(one)]
        leaves += state_leaves(one, value) if number == chosen else absent
    return leaves


def _holds(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Is a value of signature `other` one of `one`? A tuple of any length covers all lengths."""
    if one == TEXT and is_string(other):
        return True
    return one == other or (one[:2] == other[:2] and one[2:] == (None,) and one[0] == "sequence")


def _structure(results: Results, kind: Kind) -> Structure:
    count = len(list(leaf_types(kind)))
    return results.structure_of_kind(kind, iter([Leaf(k) for k in range(count)]))
