"""Live modules: a module that the caller puts in the place of another is an input, by its tensors.

`model.head = nn.Linear(...)` before each call leaves another module in a place that earlier
programs have read. When a capture finds a third one there, all tensors of the module become inputs,
and the guards ask for a module that is alike: of the same class, with equal attributes all the way
down, and with tensors of the same dtypes and sizes.

NOTE: during the capture the module stays in its place. What the capture reads of it is no guard of
its own: that would be about this very module. So the whole of it counts, read or not, and a program
that gives the module away, changes it or depends on its identity is made with the module fixed.
"""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Protocol

import torch

from stator.program.ir import Value
from stator.program.structure import ConstantValue
from stator.state.live_tensors import IdentityMattersError, ReplacedSlot, adopt_tensor, refuse_looks
from stator.state.read_results import ANY, SCALARS, Contents, tensor_facts
from stator.state.reads import Read, ReadLog, original_entry
from stator.state.session import Session
from stator.state.slots import Slot
from stator.state.snapshot import class_dicts
from stator.torch_private.fake import FakeTensor

BOUND = (types.MethodType, functools.partial)
TUPLES = (tuple, torch.Size, frozenset)  # they cannot change: which one it is does not matter
LISTS = (list, set)
DICTS = (dict, collections.OrderedDict)
# reads of a module that its likeness answers, together with its class
NAMED = frozenset({"attribute", "plain attribute", "descriptor", "hasattr"})
IMPLIED = frozenset({*NAMED, "class", "hooks", "attributes", "names", "absent", "contents", "item"})


@dataclass(frozen=True, eq=False)
class ModuleSlot:
    """A place that holds a module: what a read gives, or one part of it."""

    place: Slot | ReplacedSlot
    owner: None = None  # it is read where it is, and never written
    key: None = None

    def read(self) -> Any:
        """What is there now."""
        return self.place.read()

    def leaves(self) -> tuple[object, ...]:
        """The tensors that the program takes of it."""
        return tuple(Likeness(self.read()).tensors)

    def is_same_place(self, other: Any) -> bool:
        """Does `other` hold this very module?"""
        return bool(other.read() is self.read())

    def in_words(self) -> str:
        """How an error or a reason calls it."""
        return self.place.in_words()


class Same:
    """An object of which nothing is known: only the very same is like it."""

    __slots__ = ("obj",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, obj: object) -> None:
        self.obj = obj

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.obj is self.obj


class Likeness:
    """What a module is, all the way down, but for the identity of its parts, as comparable `facts`.

    A part that occurs a second time is given by its number.
    """

    def __init__(self, module: object) -> None:
        self.tensors: list[torch.Tensor] = []
        self.parts: dict[int, object] = {}  # modules, tables, lists and tensors, by id
        self.unknown: list[object] = []
        self._numbers: dict[int, int] = {}
        self.facts = self._of(module)

    def _of(self, value: Any) -> Any:
        cls = type(value)
        if cls in SCALARS:
            return (cls, repr(value) if cls in (float, complex) else value)
        if cls in TUPLES:
            return (cls, [self._of(item) for item in value])
        if id(value) in self._numbers:
            return ("again", self._numbers[id(value)])
        is_tensor, is_module = isinstance(value, torch.Tensor), isinstance(value, torch.nn.Module)
        if not (is_tensor or is_module or cls in DICTS or cls in LISTS):
            self.unknown.append(value)
            return Same(value)
        self.parts[id(value)] = value
        self._numbers[id(value)] = len(self._numbers)
        if is_tensor:
            self.tensors.append(value)
            return tensor_facts(value)
        if is_module:
            return (cls, self._of(vars(value)))
        if cls in DICTS:
            return (cls, [(self._of(key), self._of(item)) for key, item in value.items()])
        return (cls, [self._of(item) for item in value])

    @property
    def modules(self) -> Iterator[torch.nn.Module]:
        """The module and those inside it."""
        return (part for part in self.parts.values() if isinstance(part, torch.nn.Module))


# ---- during a capture


def install_module(session: Session, slot: ModuleSlot, values: list[Value]) -> None:
    """The tensors of the module in the slot are inputs; `values` gains them."""
    likeness = Likeness(slot.read())
    for module in likeness.modules:
        cls: Any = type(module)
        is_plain = cls.__getattribute__ is object.__getattribute__
        if not is_plain or cls.__getattr__ is not torch.nn.Module.__getattr__:
            raise IdentityMattersError("a module computes its attributes")
    if any(isinstance(one, BOUND) for one in likeness.unknown):
        raise IdentityMattersError("a module holds a method of an object")
    if any(isinstance(tensor, FakeTensor) for tensor in likeness.tensors):
        raise IdentityMattersError("a module holds a tensor of a capture")
    for tensor in likeness.tensors:
        adopt_tensor(session, tensor, values)


class Changes(Protocol):
    """What a program does to a Python object: see `state.effects.Effect`."""

    @property
    def target(self) -> Any:
        """The object."""

    @property
    def state(self) -> Any:
        """What it becomes."""


def refuse_departures(
    session: Session, live: Sequence[object], outputs: object, changes: Sequence[Changes]
) -> None:
    """No part of the modules in slots among `live` may be changed, or given away as an object."""
    slots = [slot for slot in live if isinstance(slot, ModuleSlot)]
    parts = {ident for slot in slots for ident in Likeness(slot.read()).parts}
    if not parts:
        return
    if any(id(change.target) in parts for change in changes):
        raise IdentityMattersError("a module that is replaced is changed")
    if session.host_calls or not parts.isdisjoint(map(id, session.hooked_modules.values())):
        raise IdentityMattersError("Python is called with a module that is replaced")
    given = (outputs, *(change.state for change in changes))
    if not all(isinstance(one, SCALARS) for part in given for one in _constants(part)):
        raise IdentityMattersError("an object is returned or kept outside")


def _constants(structure: object) -> Iterator[object]:
    if isinstance(structure, ConstantValue):
        yield structure.value
    elif isinstance(structure, tuple | list):
        for item in structure:
            yield from _constants(item)
    elif is_dataclass(structure):
        for one in fields(structure):
            yield from _constants(getattr(structure, one.name))


@dataclass(frozen=True)
class AlikeGuard:
    """Is the module in a place like the one that was captured?"""

    places: tuple[ReplacedSlot, ...]  # all hold one module
    facts: Any
    known: frozenset[int]  # ids of what the program knows otherwise: no part may be one of these
    others: tuple[Any, ...]  # slots that hold other state

    def __call__(self) -> bool:
        """Is it so now?"""
        first, *rest = (place.read() for place in self.places)
        if not isinstance(first, torch.nn.Module) or any(one is not first for one in rest):
            return False
        now = Likeness(first)
        held = {id(leaf) for other in self.others for leaf in other.leaves()}
        is_apart = self.known.isdisjoint(now.parts) and held.isdisjoint(now.parts)
        return is_apart and bool(now.facts == self.facts)


def reads_without_modules(
    log: ReadLog, live: Sequence[object], stored: Sequence[torch.Tensor]
) -> list[Read]:
    """The reads of a capture, without the identity of the modules in the slots among `live`."""
    reads = list(log.all())
    for slot in live:
        if isinstance(slot, ModuleSlot):
            others = tuple(one for one in live if one is not slot)
            reads = _without_identity(log, reads, slot, others, stored)
    return reads


def _without_identity(
    log: ReadLog,
    reads: Sequence[Read],
    slot: ModuleSlot,
    others: tuple[object, ...],
    stored: Sequence[torch.Tensor],
) -> list[Read]:
    module = slot.read()
    captured = Likeness(module)
    _refuse_looks(log, captured)
    dropped = {id(read) for key, read in log.by_key().items() if key[0] in captured.parts}
    places: list[ReplacedSlot] = []
    kept = [_open(read, module, places) for read in reads if id(read) not in dropped]
    known = [*stored, *(one for read in kept for one in _objects_in(read.expected))]
    if not places or any(id(one) in captured.parts for one in known):
        raise IdentityMattersError("a part of a module that is replaced is read elsewhere, too")
    guard = AlikeGuard(tuple(places), captured.facts, frozenset(map(id, known)), others)
    alike = Read(slot.in_words(), guard, True, None, is_kind=True)
    return [*kept, *_class_reads(log, captured), alike]


def _refuse_looks(log: ReadLog, captured: Likeness) -> None:
    for part in captured.parts.values():
        if isinstance(part, torch.Tensor):
            refuse_looks(log, part)
        elif not IMPLIED.issuperset(kind for kind, *_ in log.looks_at(part)):
            raise IdentityMattersError("more than the attributes of a module are read")
    details = (one for _, _, *rest in log.by_key() for one in _objects_in(tuple(rest)))
    if any(id(one) in captured.parts for one in details):
        raise IdentityMattersError("a module is an argument of a function that is asked again")


def _class_reads(log: ReadLog, captured: Likeness) -> Iterator[Read]:
    """What the classes of the modules have, or lack, under the names that were read."""
    for module in captured.modules:
        cls = type(module)
        looks = log.looks_at(module)
        for name in dict.fromkeys(rest[0] for kind, *rest in looks if kind in NAMED):
            yield Read(
                f"{cls.__name__}.{name}", _of_class(cls, name), original_entry(cls, name),
                class_dicts(cls),
            )  # fmt: skip


def _of_class(cls: type, name: str) -> Callable[[], Any]:
    return lambda: original_entry(cls, name)


def _open(read: Read, module: object, places: list[ReplacedSlot]) -> Read:
    """`read`, where any module will do in the place of `module`; `places` gains the place."""
    parts = read.expected.items if isinstance(read.expected, Contents) else read.expected
    if type(parts) is not tuple:
        if parts is not module:
            return read
        places.append(ReplacedSlot(read.again, None, read.what))
        return replace(read, expected=ANY)
    if all(one is not module for one in parts):
        return read
    if any(one is module for one in parts[: read.keys]):
        raise IdentityMattersError("a module is a key of a dict or set")
    places += [
        ReplacedSlot(read.again, k, read.what) for k, one in enumerate(parts) if one is module
    ]
    new = tuple(ANY if one is module else one for one in parts)
    return replace(read, expected=Contents(new) if isinstance(read.expected, Contents) else new)


def _objects_in(expected: object) -> Iterator[object]:
    """The objects that a read must give again."""
    items = expected.items if isinstance(expected, Contents) else expected
    if type(items) is tuple:
        for one in items:
            yield from _objects_in(one)
    elif isinstance(items, types.MethodType):
        yield items.__self__
    elif not isinstance(items, SCALARS):
        yield items
