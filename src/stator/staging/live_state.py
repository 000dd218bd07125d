"""Live state: Python state that a program reads anew before each run.

A number or a tensor that the function both reads and writes (`self.steps += 1`, a hidden state kept
on `self`, a module-level counter) has another value at every call. The first capture takes it for
fixed, as it takes everything else that it reads. When the next call finds it changed by the program
itself, the place becomes an input: during the capture a symbolic value stands in it, and before
each run its contents are read.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from stator.capture.recorder import Recorder
from stator.program.ir import Value
from stator.program.types import NumberKind, NumberType
from stator.staging.live_lists import ListSlot, install_list, list_slot_for
from stator.staging.session import Session

EMPTY = object()
KINDS: dict[type, NumberKind] = {int: "int", float: "float"}  # a bool has two programs at most


@dataclass(frozen=True)
class Slot:
    """A place that holds a value: an attribute, an item of a dict, a variable in a cell."""

    owner: Any
    key: Any
    shape: tuple[int | None, ...] | None = None  # of a tensor; None in it is any size

    def read(self) -> Any:
        """What it holds now; EMPTY if nothing."""
        if isinstance(self.owner, types.CellType):
            try:
                return self.owner.cell_contents
            except ValueError:
                return EMPTY
        return self._contents().get(self.key, EMPTY)

    def write(self, value: Any) -> None:
        """Put `value` there, as plainly as can be."""
        if isinstance(self.owner, types.CellType):
            self.owner.cell_contents = value
        else:
            self._contents()[self.key] = value

    def _contents(self) -> dict[Any, Any]:
        return self.owner if isinstance(self.owner, dict) else vars(self.owner)

    def is_same_place(self, other: Slot | ListSlot) -> bool:
        """Is `other` this place, whatever is known of its shape?"""
        return self.owner is other.owner and self.key == other.key

    def in_words(self) -> str:
        """How an error or a reason calls it."""
        if isinstance(self.owner, types.CellType):
            return "an enclosing function's variable"
        if isinstance(self.owner, dict):
            return f"[{self.key!r}]"
        return f"{type(self.owner).__name__}.{self.key}"


AnySlot = Slot | ListSlot


def slot_for(slot: AnySlot, known: Sequence[AnySlot]) -> AnySlot | None:
    """`slot` with the sizes that have stayed the same; None if what it holds cannot be an input."""
    if isinstance(slot, ListSlot):
        return list_slot_for(slot, [other for other in known if isinstance(other, ListSlot)])
    value = slot.read()
    if type(value) in KINDS:
        return Slot(slot.owner, slot.key)
    if type(value) is not torch.Tensor or value.layout is not torch.strided:
        return None
    shape: tuple[int | None, ...] = tuple(value.shape)
    for other in known:
        if not isinstance(other, Slot):
            continue
        if slot.is_same_place(other) and other.shape is not None and len(other.shape) == len(shape):
            pairs = zip(shape, other.shape, strict=True)
            shape = tuple(size if size == before else None for size, before in pairs)
    return Slot(slot.owner, slot.key, shape)


def install(session: Session, slots: Sequence[AnySlot], values: list[Value]) -> None:
    """Put symbolic values into `slots` for the time of the capture; `values` gains the inputs."""
    for slot in slots:
        if isinstance(slot, ListSlot):
            install_list(session, slot, values)
            continue
        content = slot.read()
        session.guards.own(slot.owner)
        session.note(slot.owner)  # the journal puts it back
        symbolic, value = _input(session.recorder, slot, content)
        value.name = f"state_{len(values)}"
        values.append(value)
        session.guards.live(symbolic, slot.in_words(), _still_fits(slot, content), True)
        slot.write(symbolic)


def _input(recorder: Recorder, slot: Slot, content: Any) -> tuple[Any, Value]:
    if not isinstance(content, torch.Tensor):
        value = recorder.new_value(NumberType(KINDS[type(content)]))
        return recorder.number(KINDS[type(content)], value), value
    assert slot.shape is not None
    sizes = [recorder.fresh_size() if size is None else size for size in slot.shape]
    strides = None if content.is_contiguous() else content.stride()
    tensor = recorder.new_tensor(
        content.dtype, sizes, content.device, content.requires_grad, strides=strides
    )
    value = recorder.new_value(recorder.tensor_type(tensor))
    recorder.bind(tensor, value)
    return tensor, value


def _still_fits(slot: Slot, content: Any) -> Any:
    """A function: does the slot hold a value of the kind that it held?"""
    if not isinstance(content, torch.Tensor):
        return lambda: type(slot.read()) is type(content)
    kind = (content.dtype, content.device, content.requires_grad, _layout(content))

    def fits() -> bool:
        now = slot.read()
        if type(now) is not torch.Tensor or now.dim() != len(slot.shape or ()):
            return False
        same = all(s is None or s == n for s, n in zip(slot.shape or (), now.shape, strict=True))
        return same and (now.dtype, now.device, now.requires_grad, _layout(now)) == kind

    return fits


def _layout(tensor: torch.Tensor) -> Any:
    return tensor.layout is torch.strided and (tensor.is_contiguous() or tensor.stride())
