"""Live tensors: a tensor that the caller puts in the place of another is an input.

`model.mask = new`, `load_state_dict(assign=True)`, `functional_call` and a new item of a list leave
another tensor in a place that an earlier program has read. When the next capture finds it, the
tensor that is there becomes an input: the program reads the place before each run, and its guards
ask for a tensor of the same type, dtype, device, layout and sizes, not for the same object.

NOTE: during the capture the tensor itself stays in its place, so all code sees what eager code
sees. What it looks up by the identity of a tensor would be baked in: such a tensor stays fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from stator.program.ir import InputFacts, Value
from stator.state.read_results import AnyTensor, Contents, tensor_facts, unchanged
from stator.state.reads import Read, ReadLog
from stator.state.session import Session
from stator.state.slots import Slot
from stator.torch_private.fake import FakeTensor

IMPLIED = frozenset({"class", "descriptor"})  # reads of a tensor that its type answers


class IdentityMattersError(Exception):
    """A capture depends on which tensor is in a place: it must be made with the tensor fixed."""


@dataclass(frozen=True, eq=False)
class ReplacedSlot:
    """A place that holds a tensor: what a read gives, or one part of it."""

    again: Callable[[], object]
    index: int | None
    what: str
    owner: None = None  # it is read where it is, and never written
    key: None = None

    def read(self) -> Any:
        """The tensor that is there now; None if there is none."""
        return _part(self.again(), self.index)

    def leaves(self) -> tuple[object, ...]:
        """What the program takes of it."""
        return (self.read(),)

    def is_same_place(self, other: Any) -> bool:
        """Does `other` hold this very tensor? One input serves both."""
        return bool(other.read() is self.read())

    def in_words(self) -> str:
        """How an error or a reason calls it."""
        return self.what


@dataclass(frozen=True)
class PlaceChange:
    """A place whose contents have changed since a capture, and how it can be read by each run."""

    slot: Slot | ReplacedSlot
    before: object
    now: object


def changes(reads: Sequence[Read]) -> Iterator[PlaceChange]:
    """The tensors, modules, numbers and strings that are others now than those which were read."""
    for read in reads:
        if read.is_kind or read.is_unchanged():
            continue
        now = read.again()
        for index, before, after in _pairs(read.expected, now):
            if unchanged(after, before):
                continue
            place = _place(read, index)
            if isinstance(after, torch.Tensor):
                yield from _tensor_change(read, index, place, before, after)
            elif isinstance(after, torch.nn.Module) and isinstance(before, torch.nn.Module):
                yield PlaceChange(ReplacedSlot(read.again, index, read.what), before, after)
            elif place is not None and type(after) is type(before):
                yield PlaceChange(place, before, after)


def _tensor_change(
    read: Read, index: int | None, place: Slot | None, before: object, now: torch.Tensor
) -> Iterator[PlaceChange]:
    if isinstance(now, FakeTensor) or not isinstance(before, torch.Tensor | AnyTensor):
        return
    sizes = before.shape
    if place is not None and type(now) is torch.Tensor and sizes != tuple(now.shape):
        yield PlaceChange(replace(place, shape=tuple(sizes)), before, now)
    else:
        yield PlaceChange(ReplacedSlot(read.again, index, read.what), before, now)


def _place(read: Read, index: int | None) -> Slot | None:
    """Where the part of a read is kept, if it is in an object, a dict or a cell."""
    if read.holder is None:
        return None
    if index is None:
        return Slot(read.holder, read.key)
    if read.names:
        return Slot(read.holder, read.names[index])
    if not isinstance(read.expected, Contents):
        return None  # a part of a tuple
    return Slot(read.holder, read.expected.items[index - read.keys]) if index >= read.keys else None


def _pairs(expected: object, now: object) -> Iterator[tuple[int | None, Any, Any]]:
    """What was read and is read now, part by part where it has parts."""
    old, new = (one.items if isinstance(one, Contents) else one for one in (expected, now))
    if type(old) is tuple and type(new) is tuple and len(old) == len(new):
        yield from zip(range(len(old)), old, new, strict=True)
    else:
        yield None, expected, now


def _part(value: object, index: int | None) -> Any:
    if index is None:
        return value
    items = value.items if isinstance(value, Contents) else value
    return items[index] if type(items) is tuple and index < len(items) else None


# ---- during a capture


def install_tensor(session: Session, slot: ReplacedSlot, values: list[Value]) -> None:
    """The tensor in the slot is an input for the time of the capture; `values` gains it."""
    tensor = slot.read()
    adopt_tensor(session, tensor, values)
    session.replaced.append(tensor)


def adopt_tensor(session: Session, tensor: torch.Tensor, values: list[Value]) -> None:
    """Make `tensor` an input of the program, and append its value to `values`."""
    recorder = session.recorder
    value = recorder.new_value(recorder.tensor_type(tensor))
    value.name = f"state_{len(values)}"
    values.append(value)
    recorder.input_facts[value] = InputFacts(
        tensor.requires_grad, "contiguous" if tensor.is_contiguous() else tensor.stride()
    )
    recorder.adopt(tensor, value)


def generalized(
    log: ReadLog,
    reads: Sequence[Read],
    tensors: Sequence[torch.Tensor],
    stored: Sequence[torch.Tensor],
) -> tuple[Read, ...]:
    """`reads` of a capture, without the identity of `tensors`, which are its inputs.

    That two places hold one tensor, or different ones, must stay as it is.
    """
    if not tensors:
        return tuple(reads)
    for tensor in tensors:
        refuse_looks(log, tensor)
    idents = set(map(id, tensors))
    dropped = {id(read) for key, read in log.by_key().items() if key[0] in idents}
    places: list[list[ReplacedSlot]] = [[] for _ in tensors]
    kept = [_general(read, tensors, places) for read in reads if id(read) not in dropped]
    return (*kept, Read(
        "which places hold one tensor", lambda: _identities(places, stored), True, None,
        is_kind=True,
    ))  # fmt: skip


def refuse_looks(log: ReadLog, tensor: torch.Tensor) -> None:
    """Only the type of `tensor` may have been looked at."""
    if not IMPLIED.issuperset(kind for kind, *_ in log.looks_at(tensor)):
        raise IdentityMattersError("an attribute of a tensor is read")


def _general(
    read: Read, tensors: Sequence[torch.Tensor], places: Sequence[list[ReplacedSlot]]
) -> Read:
    expected = read.expected
    parts = expected.items if isinstance(expected, Contents) else expected
    if type(parts) is not tuple:
        found = _general_value(read, None, expected, tensors, places)
        return read if found is expected else replace(read, expected=found)
    new = tuple(
        _general_value(read, k, item, tensors, places) for k, item in enumerate(parts)
    )  # fmt: skip
    if all(one is other for one, other in zip(new, parts, strict=True)):
        return read
    return replace(read, expected=Contents(new) if isinstance(expected, Contents) else new)


def _general_value(
    read: Read,
    index: int | None,
    value: object,
    tensors: Sequence[torch.Tensor],
    places: Sequence[list[ReplacedSlot]],
) -> Any:
    for tensor, found in zip(tensors, places, strict=True):
        if value is tensor:
            if index is not None and index < read.keys:
                raise IdentityMattersError("a tensor is a key of a dict or set")
            found.append(ReplacedSlot(read.again, index, read.what))
            return AnyTensor(tensor_facts(tensor))
    return value


def _identities(places: Sequence[list[ReplacedSlot]], stored: Sequence[torch.Tensor]) -> bool:
    """Does each group of places hold one tensor, which no other group has, nor the program?"""
    held = [{id(place.read()) for place in group} for group in places if group]
    if any(len(group) > 1 for group in held):
        return False
    one_of_each = {ident for group in held for ident in group}
    return len(one_of_each) == len(held) and one_of_each.isdisjoint(map(id, stored))
