"""Live state: Python state that a program reads before each run.

A number or a tensor that the function both reads and writes (`self.steps += 1`, a hidden state kept
on `self`, a module-level counter) has another value at every call. The first capture takes it for
fixed, as it takes everything else that it reads. When the next call finds it changed by the program
itself, the place becomes an input: during the capture a symbolic value is in it, and before
each run its contents are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from stator.capture.recorder import Recorder
from stator.program.ir import InputFacts, Value
from stator.program.numbers import fits
from stator.program.types import NumberKind, NumberType, TextType
from stator.state.live_lists import ListSlot, install_list, list_slot_for
from stator.state.live_modules import ModuleSlot, install_module
from stator.state.live_tensors import ReplacedSlot, install_tensor
from stator.state.live_trees import TreeSlot, install_tree, tree_slot_for
from stator.state.session import Session
from stator.state.slots import Slot
from stator.state.snapshot import same_type
from stator.values.symbolic import CapturedText

KINDS: dict[type, NumberKind] = {int: "int", float: "float"}  # a bool has two programs at most


AnySlot = Slot | ListSlot | TreeSlot | ReplacedSlot | ModuleSlot


def has_open_list(slot: AnySlot) -> bool:
    """Is it, or does it hold, a list of data-dependent length?"""
    return slot.has_open_list if isinstance(slot, TreeSlot) else isinstance(slot, ListSlot)


def with_open_items(slots: tuple[AnySlot, ...]) -> tuple[AnySlot, ...]:
    """`slots`, the tensors in lists of any size: the call may add one of another size."""
    return tuple(slot.with_open_items() if isinstance(slot, ListSlot) else slot for slot in slots)


def slot_for(slot: AnySlot, known: Sequence[AnySlot]) -> AnySlot | None:
    """`slot` with the sizes that have stayed the same; None if what it holds cannot be an input."""
    if isinstance(slot, ListSlot):
        return list_slot_for(slot, [other for other in known if isinstance(other, ListSlot)])
    if isinstance(slot, ReplacedSlot):
        return slot if isinstance(slot.read(), torch.Tensor) else None
    if isinstance(slot, ModuleSlot):
        return slot if isinstance(slot.read(), torch.nn.Module) else None
    place = slot.place if isinstance(slot, TreeSlot) else slot
    value = place.read()
    if type(value) is int and not fits(value):
        return None
    if type(value) in KINDS or type(value) is str:
        return Slot(slot.owner, slot.key)
    if not isinstance(value, torch.Tensor):
        del value
        return tree_slot_for(place, known)
    if type(value) is not torch.Tensor or value.layout is not torch.strided:
        return None
    shape: tuple[int | None, ...] = tuple(value.shape)
    for other in known:
        if not isinstance(other, Slot):
            continue
        if (
            place.is_same_place(other)
            and other.shape is not None
            and len(other.shape) == len(shape)
        ):
            pairs = zip(shape, other.shape, strict=True)
            shape = tuple(size if size == before else None for size, before in pairs)
    return Slot(slot.owner, slot.key, shape)


def install(session: Session, slots: Sequence[AnySlot], values: list[Value]) -> None:
    """Put symbolic values into `slots` for the time of the capture; `values` gains the inputs."""
    for slot in slots:
        if isinstance(slot, ListSlot):
            install_list(session, slot, values)
            continue
        if isinstance(slot, TreeSlot):
            install_tree(session, slot, values)
            continue
        if isinstance(slot, ReplacedSlot):
            install_tensor(session, slot, values)
            continue
        if isinstance(slot, ModuleSlot):
            install_module(session, slot, values)
            continue
        content = slot.read()
        session.provenance.add_external(slot.owner)
        session.note(slot.owner)  # the journal puts it back
        symbolic, value = _input(session.recorder, slot, content)
        value.name = f"state_{len(values)}"
        values.append(value)
        session.reads.live(symbolic, slot.in_words(), _still_fits(slot, content), True)
        slot.write(symbolic)
        session.state_inputs.add(slot, symbolic)


def _input(recorder: Recorder, slot: Slot, content: object) -> tuple[object, Value]:
    if isinstance(content, str):
        value = recorder.new_value(TextType())
        return CapturedText(value), value
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
    recorder.input_facts[value] = InputFacts(content.requires_grad, strides or "contiguous")
    recorder.bind(tensor, value)
    return tensor, value


def _still_fits(slot: Slot, content: object) -> Any:
    """A function: does the slot hold a value of the kind that it held?"""
    read = slot.read
    if not isinstance(content, torch.Tensor):
        cls = type(content)
        return same_type(slot.owner, slot.key, content, lambda: type(read()) is cls)
    kind = (content.dtype, content.device, content.requires_grad, _layout(content))

    def fits() -> bool:
        now = read()
        if type(now) is not torch.Tensor or now.dim() != len(slot.shape or ()):
            return False
        same = all(s is None or s == n for s, n in zip(slot.shape or (), now.shape, strict=True))
        return same and (now.dtype, now.device, now.requires_grad, _layout(now)) == kind

    return fits


def _layout(tensor: torch.Tensor) -> Any:
    return tensor.layout is torch.strided and (tensor.is_contiguous() or tensor.stride())
