"""Carry: values in and out of blocks.

`flatten` takes a value apart into program args by its kind; `instantiate` builds a value of a kind
around program values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import sympy
import torch
from torch._subclasses.fake_tensor import FakeTensor

from stator.capture.kinds import (
    Bottom,
    Exact,
    Kind,
    ListKind,
    MapKind,
    NumberKind,
    ObjectKind,
    SequenceKind,
    Size,
    TensorKind,
    TextKind,
    UnionKind,
    always,
    column_types,
    describe,
    leaf_types,
    signature,
    widen,
)
from stator.capture.numbers import Number
from stator.capture.places import current_place
from stator.capture.recorder import Recorder
from stator.capture.values import CapturedComplex, CapturedText, Columns, StagedList, Variant
from stator.errors import LoopStateChanged
from stator.program.ir import Arg, Value
from stator.program.types import ListType

NOTHING = object()  # the value of a path that never gets here


def new_leaves(recorder: Recorder, kind: Kind) -> list[Value]:
    """Fresh program values for every leaf of `kind`."""
    return [recorder.new_value(leaf_type) for leaf_type in leaf_types(kind)]


def flatten(recorder: Recorder, value: Any, kind: Kind) -> list[Arg]:
    """The args that make `value` a value of `kind`, built in the current block."""
    if value is NOTHING:
        return [None for _ in leaf_types(kind)]
    match kind:
        case Exact() | Bottom():
            return []
        case TensorKind() | NumberKind():
            return [recorder.arg(value)]
        case TextKind():
            return [value.value]
        case SequenceKind():
            return _flatten_items(
                recorder, tuple(list.__iter__(value) if isinstance(value, list) else value), kind
            )
        case MapKind():
            return _flatten_items(recorder, tuple(value[key] for key in kind.keys), kind)
        case ObjectKind():
            return _flatten_items(recorder, tuple(vars(value)[key] for key in kind.keys), kind)
        case ListKind():
            return list(_columns_of(recorder, value, kind))
    return _flatten_union(recorder, value, kind)


def _flatten_items(
    recorder: Recorder, values: Sequence[Any], kind: SequenceKind | MapKind | ObjectKind
) -> list[Arg]:
    pairs = zip(values, kind.items, strict=True)
    return [arg for value, item in pairs for arg in flatten(recorder, value, item)]


def _flatten_union(recorder: Recorder, value: Any, kind: UnionKind) -> list[Arg]:
    """The tag, then the leaves of every alternative, absent but for the one that holds."""
    slots = {signature(alternative): k for k, alternative in enumerate(kind.alternatives)}
    tag, held = _tag_and_alternatives(recorder, value, slots)
    args: list[Arg] = [tag]
    for index, alternative in enumerate(kind.alternatives):
        args += flatten(recorder, held.get(index, NOTHING), alternative)
    return args


def _tag_and_alternatives(
    recorder: Recorder, value: Any, slots: dict[tuple[Any, ...], int]
) -> tuple[Arg, dict[int, Any]]:
    if not isinstance(value, Variant):
        slot = _slot(value, slots)
        return slot, {slot: value}
    table = tuple(_slot(item, slots) for item in value.alternatives)
    held = dict(zip(table, value.alternatives, strict=True))
    tag = recorder.arg(value.tag)
    if table != tuple(range(len(table))):
        tag = recorder.emit_number("stator::select", (tag, table), "int")
    return tag, held


def _slot(value: Any, slots: dict[tuple[Any, ...], int]) -> int:
    """The alternative that `value` is: itself where it is known as an object, else by its form."""
    found = slots.get(signature(describe(value)))
    return found if found is not None else slots[signature(describe(value, always))]


def settle(recorder: Recorder, kind: Kind) -> Kind:
    """`kind` with exact values only where the current block can see them."""
    if isinstance(kind, Exact) and _is_visible(recorder, kind.value):
        return kind
    wide = widen(kind)
    if isinstance(wide, SequenceKind | MapKind | ObjectKind):
        return dataclasses.replace(wide, items=tuple(settle(recorder, k) for k in wide.items))
    if isinstance(wide, NumberKind) and isinstance(kind, Exact):
        return wide if isinstance(kind.value, Number | CapturedComplex) else kind
    return wide


def _is_visible(recorder: Recorder, value: Any) -> bool:
    if isinstance(value, FakeTensor):
        return recorder.find(value) is not None
    if isinstance(value, Number):
        return recorder.sees(value.node.expr)
    return isinstance(value, torch.Tensor)


def columns_of_items(recorder: Recorder, items: Sequence[Any], kind: Kind) -> tuple[Arg, ...]:
    """The leaves of each item, one tuple of args for each column."""
    rows = [flatten(recorder, item, kind) or [0] for item in items]
    return tuple(tuple(row[k] for row in rows) for k in range(len(column_types(kind))))


def make_columns(recorder: Recorder, items: Sequence[Any], kind: Kind) -> Columns:
    """A list of the program with `items` in it."""
    columns = columns_of_items(recorder, items, kind)
    values = []
    for element, column in zip(column_types(kind), columns, strict=True):
        value = recorder.new_value(ListType(element))
        recorder.emit("stator::list_make", column, [value])  # type: ignore[arg-type]
        values.append(value)
    return Columns(kind, tuple(values))


def _columns_of(recorder: Recorder, value: Any, kind: ListKind) -> tuple[Arg, ...]:
    columns = value if isinstance(value, Columns) else getattr(value, "columns", None)
    if columns is None:
        return make_columns(
            recorder, tuple(list.__iter__(value) if isinstance(value, list) else value), kind.item
        ).values
    if not _same_layout(columns.item, kind.item):
        if isinstance(columns.item, Bottom):
            return make_columns(recorder, (), kind.item).values
        raise LoopStateChanged(
            "a list gets items of another form after it has become a list of the program",
            at=current_place(), fix="put items of one form into it from the start",
        )  # fmt: skip
    values: tuple[Arg, ...] = columns.values
    return values


def _same_layout(a: Kind, b: Kind) -> bool:
    """Do items of `a` and of `b` have the same leaves in the same places?"""
    if isinstance(a, UnionKind) and isinstance(b, UnionKind):
        return [signature(x) for x in a.alternatives] == [signature(y) for y in b.alternatives]
    if isinstance(a, SequenceKind | MapKind | ObjectKind) and isinstance(b, type(a)):
        return len(a.items) == len(b.items) and all(map(_same_layout, a.items, b.items))
    if isinstance(a, ListKind) and isinstance(b, ListKind):
        return _same_layout(a.item, b.item)
    return a == b or (
        isinstance(a, type(b)) and signature(a) == signature(b) and not isinstance(a, Exact)
    )


def instantiate(recorder: Recorder, kind: Kind, leaves: Iterator[Value]) -> Any:
    """A value of `kind` that stands for the program values `leaves`."""
    match kind:
        case Exact():
            return kind.value
        case TensorKind():
            return _new_tensor(recorder, kind, next(leaves))
        case NumberKind():
            return recorder.number(kind.name, next(leaves))
        case TextKind():
            return CapturedText(next(leaves))
        case SequenceKind():
            return _new_sequence(kind, [instantiate(recorder, k, leaves) for k in kind.items])
        case MapKind():
            items = [instantiate(recorder, k, leaves) for k in kind.items]
            return _new_map(kind, items)
        case ObjectKind():
            new: Any = object.__new__(kind.type)
            items = [instantiate(recorder, k, leaves) for k in kind.items]
            vars(new).update(zip(kind.keys, items, strict=True))
            recorder.born(new)
            return new
        case ListKind():
            return list_of(Columns(kind.item, tuple(next(leaves) for _ in column_types(kind.item))))
        case UnionKind():
            tag = recorder.number("int", next(leaves))
            alternatives = tuple(instantiate(recorder, k, leaves) for k in kind.alternatives)
            return Variant(tag, alternatives, recorder.apply)
    return NOTHING


def _new_map(kind: MapKind, items: list[Any]) -> Any:
    new = kind.type() if kind.type is not dict else {}
    new.update(zip(kind.keys, items, strict=True))
    return new


def _new_sequence(kind: SequenceKind, items: list[Any]) -> Any:
    if kind.type is list:
        return StagedList(items)
    if hasattr(kind.type, "_fields"):
        return kind.type(*items)
    return kind.type(items)


def list_of(columns: Columns) -> StagedList:
    """A list of the program that holds `columns`."""
    new = StagedList()
    new.columns = columns
    return new


def _new_tensor(recorder: Recorder, kind: TensorKind, value: Value) -> torch.Tensor:
    sizes = [_new_size(recorder, size) for size in kind.sizes]
    tensor = recorder.new_tensor(kind.dtype, sizes, kind.device, kind.requires_grad)
    recorder.bind(tensor, value)
    tensor.stator_joined = True  # type: ignore[attr-defined]  # may be one with another tensor
    value.type = recorder.tensor_type(tensor) if not _is_optional(value) else value.type
    return tensor


def _is_optional(value: Value) -> bool:
    return type(value.type).__name__ == "OptionalType"


def _new_size(recorder: Recorder, size: Size) -> Any:
    if isinstance(size, int):
        return size
    if isinstance(size, sympy.Basic) and recorder.sees(size):
        return recorder.sizes.create_symintnode(size, hint=None)
    return recorder.fresh_size()
