"""Lists: a StagedList runs as Python while its length is known, and as a list of the program after.

A list of the program is a value: each change gives new columns, which the list then holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from stator.capture.conditions import raise_if
from stator.capture.flatten import flatten, instantiate, list_of, list_type, make_columns
from stator.capture.numbers import either
from stator.capture.recorder import Recorder
from stator.errors import UnsupportedCall
from stator.frames import current_place
from stator.program.ir import Arg
from stator.program.list_loops import ListLoops
from stator.program.types import ListType, NumberType
from stator.values.annotations import Args, Staged
from stator.values.describe import describe, generalise
from stator.values.freezing import freeze_loaded_copy, freeze_stored_copy, refuse_stored_objects
from stator.values.kinds import (
    Bottom,
    ContainerKind,
    Kind,
    ListKind,
    NumberKind,
    TensorKind,
    TextKind,
    column_types,
)
from stator.values.merge import as_list_item, merge
from stator.values.staged import Columns, StagedList, is_copied


def is_captured(value: object) -> bool:
    """Is `value` a list of the program?"""
    return isinstance(value, StagedList) and value.is_open


def refuse_identity(value: Staged) -> None:
    """Python compares items by identity first, which a program does not know of its tensors.

    Refused, a live list is captured for each length instead.
    """
    if not isinstance(value, StagedList) or value.columns is None:
        return
    if (value.is_live or value.is_given) and isinstance(value.columns.item, TensorKind):
        raise UnsupportedCall(
            "a list of tensors that every run reads again is compared or searched",
            fix="compare the tensors themselves",
        )


def is_tuple(value: object) -> bool:
    """Is `value` a tuple to converted code?"""
    return isinstance(value, tuple) or (isinstance(value, StagedList) and value.is_tuple)


def sequence_name(obj: object) -> str:
    """What Python's own message calls a sequence."""
    names = ((str, "string"), (tuple, "tuple"), (range, "range object"))
    return next((name for cls, name in names if isinstance(obj, cls)), "list")


def columns_of(recorder: Recorder, items: Staged) -> Columns:
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


def merge_item(kind: Kind, item: object) -> Kind:
    """`kind` widened to cover `item`, which now belongs to a list of the program."""
    refuse_stored_objects(item)
    freeze_stored_copy(item)
    return as_list_item(generalise(merge(kind, describe(item, is_copied))))


def as_tuple(recorder: Recorder, items: object) -> StagedList:
    """`tuple(items)`."""
    columns = columns_of(recorder, items)
    return list_of(Columns(columns.item, columns.values, tuple))


def as_list(items: StagedList) -> StagedList:
    """`list(items)` of a list or tuple of the program."""
    columns = items.columns
    assert columns is not None
    return list_of(Columns(columns.item, columns.values))


def list_length(recorder: Recorder, items: Staged) -> Staged:
    """`len(items)` of a list, tuple, dict or set of the program."""
    assert items.columns is not None
    value = recorder.new_value(NumberType("int"))
    recorder.emit("stator::list_length", (items.columns.values[0],), [value])
    return recorder.number("int", value)


def list_get(recorder: Recorder, items: object, index: object) -> Staged:
    """`items[index]`, by a captured number or from a list of the program."""
    columns = columns_of(recorder, items)
    if isinstance(columns.item, Bottom):
        raise IndexError(f"{columns.form.__name__} index out of range")  # it is always empty
    leaves = []
    for column in columns.values:
        value = recorder.new_value(list_type(column).element)
        recorder.emit("stator::list_get", (column, recorder.arg(index)), [value])
        leaves.append(value)
    return freeze_loaded_copy(instantiate(recorder, columns.item, iter(leaves)))


def list_slice(recorder: Recorder, items: object, where: slice) -> StagedList:
    """`items[where]`, as a list of the program."""
    bounds = tuple(recorder.arg(bound) for bound in (where.start, where.stop, where.step))
    columns = columns_of(recorder, items)
    if _is_always_empty(columns) and where.step is None:
        return StagedList()
    return list_of(_each(recorder, columns, "stator::list_slice", bounds))


def _is_always_empty(columns: Columns) -> bool:
    """Was nothing ever put into this list? Then Python can hold what is taken from it."""
    return columns.form is list and isinstance(columns.item, Bottom)


def _each(recorder: Recorder, columns: Columns, op: str, args: tuple[Arg, ...]) -> Columns:
    """`op(column, *args)` for every column."""
    values = []
    for column in columns.values:
        value = recorder.new_value(list_type(column))
        recorder.emit(op, (column, *args), [value])
        values.append(value)
    return Columns(columns.item, tuple(values), columns.form)


def _each_with_item(
    recorder: Recorder, columns: Columns, op: str, before: tuple[Arg, ...], item: object
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


def set_item(recorder: Recorder, items: StagedList, index: object, item: object) -> None:
    """`items[index] = item`."""
    columns = columns_of(recorder, items)
    replace_contents(
        items, _each_with_item(recorder, columns, "stator::list_set", (recorder.arg(index),), item)
    )


def delete_item(recorder: Recorder, items: StagedList, index: object) -> None:
    """`del items[index]`."""
    columns = columns_of(recorder, items)
    replace_contents(items, _each(recorder, columns, "stator::list_delete", (recorder.arg(index),)))


def replace_contents(items: StagedList, new: Columns | StagedList) -> None:
    """`items[:] = new`."""
    columns = new if isinstance(new, Columns) else new.columns
    list.__setitem__(items, slice(None), new if isinstance(new, list) and columns is None else ())
    items.columns = columns


# ---- the methods of a list of the program


def append(recorder: Recorder, items: StagedList, item: object) -> None:
    """`items.append(item)`."""
    columns = columns_of(recorder, items)
    replace_contents(items, _each_with_item(recorder, columns, "stator::list_append", (), item))


def insert(recorder: Recorder, items: StagedList, index: object, item: object) -> None:
    """`items.insert(index, item)`."""
    columns = columns_of(recorder, items)
    replace_contents(
        items,
        _each_with_item(recorder, columns, "stator::list_insert", (recorder.arg(index),), item),
    )


def pop(recorder: Recorder, items: StagedList, index: object = -1) -> Staged:
    """`items.pop(index)`."""
    columns = columns_of(recorder, items)
    _check_pop(recorder, list_length(recorder, list_of(columns)), index)
    rest = _each(recorder, columns, "stator::list_delete", (recorder.arg(index),))
    taken = list_get(recorder, list_of(columns), index)
    replace_contents(items, rest)
    return taken


def _check_pop(recorder: Recorder, length: Any, index: Any) -> None:
    """Raise as `list.pop` does: its messages are not those of `del`."""
    raise_if(recorder, length == 0, IndexError("pop from empty list"))
    if isinstance(index, int):
        if index not in (0, -1):
            outside = length <= index if index > 0 else length < -index
            raise_if(recorder, outside, IndexError("pop index out of range"))
        return
    outside = either(index >= length, index < -length)
    raise_if(recorder, outside, IndexError("pop index out of range"))


def extend(recorder: Recorder, items: StagedList, others: object) -> None:
    """`items.extend(others)`."""
    replace_contents(items, concatenated(recorder, items, others))


def concatenated(recorder: Recorder, first: object, second: object) -> Columns:
    """The items of `first`, then those of `second`."""
    left, right = columns_of(recorder, first), columns_of(recorder, second)
    form = left.form
    kind = generalise(merge(left.item, right.item))
    left, right = _fit(left, kind, recorder), _fit(right, kind, recorder)
    loops = ListLoops(recorder.new_value, current_place())
    values = loops.extended(_types(left), left.values, right.values)
    _emit(recorder, loops)
    return Columns(kind, values, form)


def _types(columns: Columns) -> list[ListType]:
    return [list_type(column) for column in columns.values]


def _emit(recorder: Recorder, loops: ListLoops) -> None:
    for op in loops.ops:
        recorder.emit(op.name, op.args, list(op.results), blocks=list(op.blocks))


def repeated(recorder: Recorder, items: object, times: object) -> StagedList:
    """`items * times`."""
    columns = columns_of(recorder, items)
    if _is_always_empty(columns):
        return StagedList()
    loops = ListLoops(recorder.new_value, current_place())
    values = loops.repeated(_types(columns), columns.values, recorder.arg(times))
    _emit(recorder, loops)
    return list_of(Columns(columns.item, values, columns.form))


def reverse(recorder: Recorder, items: StagedList) -> None:
    """`items.reverse()`."""
    backwards = list_slice(recorder, items, slice(None, None, -1))
    assert backwards.columns is not None
    replace_contents(items, backwards.columns)


def clear(_recorder: Recorder, items: StagedList) -> None:
    """`items.clear()`: a Python list again."""
    items.columns = None
    list.clear(items)


def copy(recorder: Recorder, items: StagedList) -> StagedList:
    """`items.copy()`."""
    return list_of(columns_of(recorder, items))


def order_of(recorder: Recorder, keys: StagedList, reverse: object) -> StagedList | None:
    """The places of `keys` in order, as `sorted` has them; None where no op can compare them."""
    columns = columns_of(recorder, keys)
    if not _is_ordered(columns.item):
        return None
    value = recorder.new_value(ListType(NumberType("int")))
    recorder.emit("stator::list_order", (recorder.arg(reverse), *columns.values), [value])
    return list_of(Columns(NumberKind("int"), (value,)))


def _is_ordered(kind: Kind) -> bool:
    """Can the items themselves be compared, with nothing but their columns at hand?"""
    if isinstance(kind, ContainerKind):
        return kind.type is tuple and bool(kind.items) and all(map(_is_ordered, kind.items))
    return isinstance(kind, TensorKind | TextKind | Bottom) or (
        isinstance(kind, NumberKind) and kind.name != "complex"
    )


def taken(recorder: Recorder, items: StagedList, places: StagedList) -> StagedList:
    """`[items[place] for place in places]`."""
    assert places.columns is not None
    columns = columns_of(recorder, items)
    loops = ListLoops(recorder.new_value, current_place())
    values = loops.taken(_types(columns), columns.values, places.columns.values[0])
    _emit(recorder, loops)
    return list_of(Columns(columns.item, values, columns.form))


METHODS: dict[str, Callable[..., Any]] = {
    "append": append, "insert": insert, "pop": pop, "extend": extend, "reverse": reverse,
    "clear": clear, "copy": copy,
}  # fmt: skip


def call_list_method(recorder: Recorder, items: StagedList, name: str, args: Args) -> Staged:
    """`items.name(*args)`: Python's own while every length and index is known."""
    symbolic = any(isinstance(arg, torch.SymInt) for arg in args) and name in ("insert", "pop")
    if not items.is_open and not symbolic:
        if name == "extend" and args and is_captured(args[0]):
            return extend(recorder, items, args[0])
        return getattr(list, name)(items, *args)
    if name not in METHODS:
        raise UnsupportedCall(f"`list.{name}` of a list of data-dependent length is not supported",
                              fix="use a loop over its items")  # fmt: skip
    return METHODS[name](recorder, items, *args)


def sample(recorder: Recorder, items: StagedList, count: int) -> list[torch.Tensor]:
    """`count` tensors that represent the items of a list of the program, for an op of lists."""
    columns = columns_of(recorder, items)
    if not isinstance(columns.item, TensorKind):
        raise UnsupportedCall(
            "torch functions take lists of tensors only",
            fix="make a list of tensors, without None or tuples in it",
        )
    element = list_type(columns.values[0]).element
    tensors = []
    for _ in range(count):
        value = recorder.new_value(element)
        tensor = instantiate(recorder, columns.item, iter([value]))
        recorder.sampled[tensor] = columns.values[0]
        tensors.append(tensor)
    return tensors


def column_type(kind: Kind) -> Staged:
    """The type of the only column of a list of tensors."""
    (only,) = column_types(kind)
    return only
