"""Live lists: lists of the caller's that a program reads before each run.

A list that the function itself changes (`self.log.append(loss)`) has another length at every call.
The first capture takes it for fixed. When the next call finds it changed by the program itself, it
becomes an input: a list of the program, whose items are tensors of one kind, or numbers.

Where Python needs the very items, or the program would refuse some lengths that eager takes, there
is a program for each length, as before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from stator.program.ir import Block, Value
from stator.program.numbers import fits
from stator.program.program import Program
from stator.program.types import ListType
from stator.state.session import Session
from stator.state.stand_ins import staged_copy
from stator.values.contents import restore
from stator.values.kinds import NumberKind, TensorKind, column_types
from stator.values.merge import common_sizes
from stator.values.staged import Columns

ItemKind = TensorKind | NumberKind


@dataclass(frozen=True)
class ListSlot:
    """A list of the caller's, and what its items are, as far as that has stayed the same."""

    owner: list[Any]
    item: ItemKind | None = None
    key: None = None

    def read(self) -> list[Any]:
        """A copy of the list as it is now, which the program may change."""
        return list(self.owner)

    def leaves(self) -> tuple[list[Any]]:
        """What the program takes of it."""
        return (self.read(),)

    def is_same_place(self, other: Any) -> bool:
        """Is `other` this list?"""
        return self.owner is other.owner

    def with_open_items(self) -> ListSlot:
        """The same list, whose tensors may have any sizes."""
        if not isinstance(self.item, TensorKind) or set(self.item.sizes) <= {None}:
            return self
        return replace(self, item=replace(self.item, sizes=(None,) * len(self.item.sizes)))

    def in_words(self) -> str:
        """How an error or a reason calls it."""
        return "what a list holds"


def list_slot_for(slot: ListSlot, known: Sequence[Any]) -> ListSlot | None:
    """`slot` with the kind that its items have; None if they are not of one kind."""
    before = [other.item for other in known if slot.is_same_place(other) and other.item is not None]
    kinds = [*before, *map(item_kind, slot.owner)]
    joined = kinds[0] if kinds else None
    for kind in kinds[1:]:
        joined = joined_items(joined, kind)
    return None if joined is None else ListSlot(slot.owner, joined)


def item_kind(item: Any) -> ItemKind | None:
    """What a number or a tensor is; None for anything else, and for a tensor of odd layout."""
    if type(item) is int:
        return NumberKind("int") if fits(item) else None
    if type(item) is float:
        return NumberKind("float")
    is_plain = type(item) is torch.Tensor and item.layout is torch.strided
    if not is_plain or not item.is_contiguous() or item.is_conj() or item.is_neg():
        return None
    return TensorKind(item.dtype, item.device, tuple(item.shape), item.requires_grad)


def joined_items(one: ItemKind | None, other: ItemKind | None) -> ItemKind | None:
    """The kind of both, a size that differs left open; None if there is none."""
    if not (isinstance(one, TensorKind) and isinstance(other, TensorKind)):
        return one if one == other else None
    facts = [
        (kind.dtype, kind.device, kind.requires_grad, len(kind.sizes)) for kind in (one, other)
    ]
    if facts[0] != facts[1]:
        return None
    return replace(one, sizes=common_sizes(one, other))


def install_list(session: Session, slot: ListSlot, values: list[Value]) -> None:
    """A list of the program represents the caller's; `values` gains the input."""
    assert slot.item is not None
    (element,) = column_types(slot.item)
    value = session.recorder.new_value(ListType(element))
    value.name = f"state_{len(values)}"
    values.append(value)
    shadow = staged_copy(slot.owner)
    restore(shadow, Columns(slot.item, (value,)))
    shadow.is_live = True
    session.provenance.add_external(slot.owner)
    session.stand_ins.add(slot.owner, shadow)
    session.reads.live_contents(slot.owner, slot.in_words(), _still_fits(slot))


def makes_demands(program: Program) -> bool:
    """Does it refuse some sizes? Then a length that only a run knows may be refused as well."""
    return any(map(_has_demand, program.blocks))


def _has_demand(block: Block) -> bool:
    return any(op.name == "stator::demand" or any(map(_has_demand, op.blocks)) for op in block.ops)


def _still_fits(slot: ListSlot) -> Callable[[], bool]:
    """A function: are all items of the kind that they were of?"""
    return lambda: all(joined_items(slot.item, item_kind(item)) == slot.item for item in slot.owner)
