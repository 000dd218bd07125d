"""Lists: a StagedList runs as Python while its length is known, and as a list of the program after.

A list of the program is a value: each change gives new columns, which the list then holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from stator.capture.carry import flatten, instantiate, list_of, list_type, make_columns
from stator.capture.journal import state_of
from stator.capture.kinds import (
    Bottom,
    Kind,
    ListKind,
    NumberKind,
    SequenceKind,
    TensorKind,
    TextKind,
    always,
    column_types,
    describe,
    generalise,
    is_plain_object,
    listed,
    merge,
)
from stator.capture.places import current_place
from stator.capture.recorder import Recorder
from stator.capture.values import (
    Columns,
    StagedDict,
    StagedList,
    Variant,
    freeze,
    python_name,
)
from stator.errors import UnsupportedCall
from stator.program.ir import Arg
from stator.program.types import ListType, NumberType


def is_captured(value: Any) -> bool:
    """Is `value` a list of the program?"""
    return isinstance(value, StagedList) and value.columns is not None


def refuse_identity(value: Any) -> None:
    """Python compares items by identity first, which a program does not know of its tensors.

    Refused, a live list is captured for each length instead.
    """
    is_live = isinstance(value, StagedList) and value.is_live and value.columns is not None
    if is_live and isinstance(value.columns.item, TensorKind):
        raise UnsupportedCall(
            "a list of tensors that every run reads anew is compared or searched",
            at=current_place(), fix="compare the tensors themselves",
        )  # fmt: skip


def is_tuple(value: Any) -> bool:
    """Is `value` a tuple to converted code?"""
    return isinstance(value, tuple) or (isinstance(value, StagedList) and value.is_tuple)


def columns_of(recorder: Recorder, items: Any) -> Columns:
    """`items` as a list of the program."""
    if is_captured(items):
        columns: Columns = items.columns
        return columns
    kind: Kind = Bottom()
    for value in list(items):
        kind = merge_item(kind, value)
    made = make_columns(recorder, tuple(items), kind)
    made.form = tuple if isinstance(items, tuple) else list
    return made


def merge_item(kind: Kind, item: Any) -> Kind:
    """`kind` widened to cover `item`, which now belongs to a list of the program."""
    give_away(item)
    return listed(generalise(merge(kind, describe(item, always))))


def give_away(item: Any) -> None:
    """A list of the program holds a copy of `item`, which must not change any more."""
    _refuse_objects(item)
    freeze(item)


def _refuse_objects(item: Any) -> None:
    """Objects that others may change, and that a copy would not see."""
    parts: Any = ()
    if isinstance(item, Variant):
        parts = item.alternatives
    elif isinstance(item, tuple) or (isinstance(item, list) and not is_captured(item)):
        parts = item
    elif isinstance(item, StagedDict):
        parts = item.values()
    elif isinstance(item, dict | set) or is_plain_object(item):
        raise UnsupportedCall(
            f"a {python_name(item)} is put into a list whose length only a run knows",
            at=current_place(), fix="put tensors, numbers, tuples or lists into it",
        )  # fmt: skip
    for part in parts:
        _refuse_objects(part)


def borrowed(item: Any) -> Any:
    """An item read from a list of the program is a copy: writing to it would be lost."""
    parts: Any = ()
    if isinstance(item, StagedList | StagedDict):
        item.frozen = "it is an item of a list of the program, which would not see the change"
        parts = () if item.columns is not None else state_of(item)
    elif isinstance(item, tuple):
        parts = item
    elif isinstance(item, Variant):
        parts = item.alternatives
    for part in parts.values() if isinstance(parts, dict) else parts:
        borrowed(part)
    return item


def as_tuple(recorder: Recorder, items: Any) -> StagedList:
    """`tuple(items)`."""
    columns = columns_of(recorder, items)
    return list_of(Columns(columns.item, columns.values, tuple))


def as_list(items: StagedList) -> StagedList:
    """`list(items)` of a list or tuple of the program."""
    assert items.columns is not None
    return list_of(Columns(items.columns.item, items.columns.values))


def list_length(recorder: Recorder, items: Any) -> Any:
    """`len(items)` of a list, tuple, dict or set of the program."""
    assert items.columns is not None
    value = recorder.new_value(NumberType("int"))
    recorder.emit("stator::list_length", (items.columns.values[0],), [value])
    return recorder.number("int", value)


def list_get(recorder: Recorder, items: Any, index: Any) -> Any:
    """`items[index]`, by a captured number or from a list of the program."""
    columns = columns_of(recorder, items)
    leaves = []
    for column in columns.values:
        value = recorder.new_value(list_type(column).element)
        recorder.emit("stator::list_get", (column, recorder.arg(index)), [value])
        leaves.append(value)
    return borrowed(instantiate(recorder, columns.item, iter(leaves)))


def list_slice(recorder: Recorder, items: Any, where: slice) -> StagedList:
    """`items[where]`, as a list of the program."""
    bounds = tuple(recorder.arg(bound) for bound in (where.start, where.stop, where.step))
    return list_of(_each(recorder, columns_of(recorder, items), "stator::list_slice", bounds))


def _each(recorder: Recorder, columns: Columns, op: str, args: tuple[Arg, ...]) -> Columns:
    """`op(column, *args)` for every column."""
    values = []
    for column in columns.values:
        value = recorder.new_value(list_type(column))
        recorder.emit(op, (column, *args), [value])
        values.append(value)
    return Columns(columns.item, tuple(values), columns.form)


def _each_with_item(
    recorder: Recorder, columns: Columns, op: str, before: tuple[Arg, ...], item: Any
) -> Columns:
    """`op(column, *before, leaf)` for every column and its leaf of `item`."""
    kind = merge_item(columns.item, item)
    columns = _fit(columns, kind, recorder)
    leaves = flatten(recorder, item, kind) or [0]
    values = []
    for column, leaf in zip(columns.values, leaves, strict=True):
        value = recorder.new_value(list_type(column))
        recorder.emit(op, (column, *before, leaf), [value])
        values.append(value)
    return Columns(kind, tuple(values))


def _fit(columns: Columns, kind: Kind, recorder: Recorder) -> Columns:
    """The same list with items of `kind`."""
    values = flatten(recorder, list_of(columns), ListKind(kind))
    return Columns(kind, tuple(values), columns.form)  # type: ignore[arg-type]


def set_item(recorder: Recorder, items: StagedList, index: Any, item: Any) -> None:
    """`items[index] = item`."""
    columns = columns_of(recorder, items)
    _become(
        items, _each_with_item(recorder, columns, "stator::list_set", (recorder.arg(index),), item)
    )


def delete_item(recorder: Recorder, items: StagedList, index: Any) -> None:
    """`del items[index]`."""
    columns = columns_of(recorder, items)
    _become(items, _each(recorder, columns, "stator::list_delete", (recorder.arg(index),)))


def _become(items: StagedList, columns: Columns) -> None:
    list.clear(items)
    items.columns = columns


# ---- the methods of a list of the program


def append(recorder: Recorder, items: StagedList, item: Any) -> None:
    """`items.append(item)`."""
    columns = columns_of(recorder, items)
    _become(items, _each_with_item(recorder, columns, "stator::list_append", (), item))


def insert(recorder: Recorder, items: StagedList, index: Any, item: Any) -> None:
    """`items.insert(index, item)`."""
    columns = columns_of(recorder, items)
    _become(
        items,
        _each_with_item(recorder, columns, "stator::list_insert", (recorder.arg(index),), item),
    )


def pop(recorder: Recorder, items: StagedList, index: Any = -1) -> Any:
    """`items.pop(index)`."""
    columns = columns_of(recorder, items)
    rest = _each(recorder, columns, "stator::list_pop", (recorder.arg(index),))
    taken = list_get(recorder, list_of(columns), index)
    _become(items, rest)
    return taken


def extend(recorder: Recorder, items: StagedList, others: Any) -> None:
    """`items.extend(others)`."""
    _become(items, concatenated(recorder, items, others))


def concatenated(recorder: Recorder, first: Any, second: Any) -> Columns:
    """The items of `first`, then those of `second`."""
    left, right = columns_of(recorder, first), columns_of(recorder, second)
    form = left.form
    kind = generalise(merge(left.item, right.item))
    left, right = _fit(left, kind, recorder), _fit(right, kind, recorder)
    values = []
    for one, two in zip(left.values, right.values, strict=True):
        value = recorder.new_value(list_type(one))
        recorder.emit("stator::list_extend", (one, two), [value])
        values.append(value)
    return Columns(kind, tuple(values), form)


def repeated(recorder: Recorder, items: Any, times: Any) -> Columns:
    """`items * times`."""
    columns = columns_of(recorder, items)
    return _each(recorder, columns, "stator::list_repeat", (recorder.arg(times),))


def reverse(recorder: Recorder, items: StagedList) -> None:
    """`items.reverse()`."""
    _become(items, _each(recorder, columns_of(recorder, items), "stator::list_reverse", ()))


def clear(_recorder: Recorder, items: StagedList) -> None:
    """`items.clear()`: a Python list again."""
    items.columns = None
    list.clear(items)


def copy(recorder: Recorder, items: StagedList) -> StagedList:
    """`items.copy()`."""
    return list_of(columns_of(recorder, items))


def take_over(items: StagedList, other: StagedList) -> None:
    """`items[:] = other`."""
    if other.columns is None:
        items.columns = None
        list.__setitem__(items, slice(None), list(other))
    else:
        _become(items, other.columns)


def order_of(recorder: Recorder, keys: StagedList, reverse: Any) -> StagedList | None:
    """The places of `keys` in order, as `sorted` has them; None where no op can compare them."""
    columns = columns_of(recorder, keys)
    if not _is_ordered(columns.item):
        return None
    value = recorder.new_value(ListType(NumberType("int")))
    recorder.emit("stator::list_order", (recorder.arg(reverse), *columns.values), [value])
    return list_of(Columns(NumberKind("int"), (value,)))


def _is_ordered(kind: Kind) -> bool:
    """Can the items themselves be compared, with nothing but their columns at hand?"""
    if isinstance(kind, SequenceKind):
        return kind.type is tuple and bool(kind.items) and all(map(_is_ordered, kind.items))
    return isinstance(kind, TensorKind | TextKind | Bottom) or (
        isinstance(kind, NumberKind) and kind.name != "complex"
    )


def taken(recorder: Recorder, items: StagedList, places: StagedList) -> StagedList:
    """`[items[place] for place in places]`."""
    assert places.columns is not None
    columns = columns_of(recorder, items)
    return list_of(_each(recorder, columns, "stator::list_take", (places.columns.values[0],)))


METHODS: dict[str, Callable[..., Any]] = {
    "append": append, "insert": insert, "pop": pop, "extend": extend, "reverse": reverse,
    "clear": clear, "copy": copy,
}  # fmt: skip


def call_list_method(recorder: Recorder, items: StagedList, name: str, args: Any) -> Any:
    """`items.name(*args)`: Python's own while every length and index is known."""
    symbolic = any(isinstance(arg, torch.SymInt) for arg in args) and name in ("insert", "pop")
    if items.columns is None and not symbolic:
        if name == "extend" and args and is_captured(args[0]):
            return extend(recorder, items, args[0])
        return getattr(list, name)(items, *args)
    if name not in METHODS:
        raise UnsupportedCall(
            f"`list.{name}` of a list whose length only a run knows is not supported",
            at=current_place(), fix="use a loop over its items",
        )  # fmt: skip
    return METHODS[name](recorder, items, *args)


def sample(recorder: Recorder, items: StagedList, count: int) -> list[torch.Tensor]:
    """`count` tensors that stand for the items of a list of the program, for an op of lists."""
    columns = columns_of(recorder, items)
    if not isinstance(columns.item, TensorKind):
        raise UnsupportedCall(
            "torch functions take lists of tensors only", at=current_place(),
            fix="make a list of tensors, without None or tuples in it",
        )  # fmt: skip
    element = list_type(columns.values[0]).element
    tensors = []
    for _ in range(count):
        value = recorder.new_value(element)
        tensor = instantiate(recorder, columns.item, iter([value]))
        tensor.stator_list = columns.values[0]
        tensors.append(tensor)
    return tensors


def column_type(kind: Kind) -> Any:
    """The type of the only column of a list of tensors."""
    (only,) = column_types(kind)
    return only
