"""Lists whose items have one shape, as one tensor: a row is an item."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import onnx_ir as ir

from stator.export.onnx.list_operands import (
    NO_SUCH_ITEM,
    OUT_OF_RANGE,
    given_list,
    item_of,
    list_type,
    raises,
    slice_bounds,
    vector,
)
from stator.export.onnx.lowering import Lowering
from stator.export.onnx.numbers import number
from stator.export.onnx.scope import D
from stator.export.onnx.sequences import count_of
from stator.export.onnx.types import element_type
from stator.program.ir import Arg, Op, Value

LAST = 2**62


def make(to: Lowering, op: Op) -> ir.Value:
    """A list of these items."""
    kind = list_type(op.results[0])
    if not op.args:
        return to.absent(kind)
    if all(isinstance(arg, bool | int | float) for arg in op.args):
        found = to.scope.constant(list(op.args), element_type(kind.element, to.place))
        return to.scope.emit("Identity", found, kind=found.type, shape=found.shape)
    return _joined(to, op, [_row(to, op, arg) for arg in op.args])


def _row(to: Lowering, op: Op, arg: Arg) -> ir.Value:
    """An item as a tensor of one row."""
    item = item_of(to, op, arg)
    shape = None if item.shape is None else ir.Shape([1, *item.shape])
    return to.scope.emit("Unsqueeze", item, to.scope.int64([0]), shape=shape)


def _joined(to: Lowering, op: Op, parts: list[ir.Value]) -> ir.Value:
    kind = op.results[0].type
    return to.scope.emit("Concat", *parts, kind=to.type_of(kind), shape=to.shape_of(kind), axis=0)


def length(to: Lowering, op: Op) -> ir.Value:
    """The length of a list."""
    to.small.add(op.results[0])
    return count_of(to.scope, to.value(op.args[0]))


def get(to: Lowering, op: Op) -> ir.Value:
    """One item."""
    element = list_type(op.args[0]).element
    found = to.scope.emit(
        "Gather", to.value(op.args[0]), number(to, op.args[1], "int"), kind=to.type_of(element),
        shape=to.shape_of(element), axis=0,
    )  # fmt: skip
    return raises(found, "IndexError", OUT_OF_RANGE)


def append(to: Lowering, op: Op) -> ir.Value:
    """The list with one more item."""
    return _joined(to, op, [given_list(to, op), _row(to, op, op.args[1])])


def insert(to: Lowering, op: Op) -> ir.Value:
    """The list with an item put before an index, which may lie outside of it."""
    rows, at = given_list(to, op), vector(to.scope, number(to, op.args[1], "int"))
    before = _part(to, op, rows, to.scope.int64([0]), at)
    after = _part(to, op, rows, at, to.scope.int64([LAST]))
    return _joined(to, op, [before, _row(to, op, op.args[2]), after])


def _part(
    to: Lowering, op: Op, rows: ir.Value, start: ir.Value, stop: ir.Value, *more: ir.Value
) -> ir.Value:
    kind = op.results[0].type
    rest = more or (to.scope.int64([0]),)
    return to.scope.emit("Slice", rows, start, stop, *rest, kind=to.type_of(kind),
                         shape=to.shape_of(kind))  # fmt: skip


def replace(to: Lowering, op: Op) -> ir.Value:
    """The list with one item replaced."""
    kind, place = op.results[0].type, _place(to, op.args[1])
    found = to.scope.emit(
        "ScatterND", given_list(to, op), place, _row(to, op, op.args[2]), kind=to.type_of(kind),
        shape=to.shape_of(kind),
    )  # fmt: skip
    return raises(found, "IndexError", NO_SUCH_ITEM)


def _place(to: Lowering, index: Arg) -> ir.Value:
    """An index of one row, for ScatterND."""
    one = to.scope.int64([1, 1])
    return to.scope.emit("Reshape", number(to, index, "int"), one, shape=[1, 1])


def delete(to: Lowering, op: Op) -> ir.Value:
    """The list without one item."""
    scope, rows, kind = to.scope, given_list(to, op), op.results[0].type
    count = vector(scope, count_of(scope, rows))
    every = scope.filled(count, True, D.BOOL, shape=ir.Shape([None]))
    place, no = _place(to, op.args[1]), scope.constant([False], D.BOOL)
    kept = scope.emit("ScatterND", every, place, no, shape=ir.Shape([None]))
    raises(kept, "IndexError", NO_SUCH_ITEM)
    return scope.emit(
        "Compress", rows, kept, kind=to.type_of(kind), shape=to.shape_of(kind), axis=0
    )


def slice_of(to: Lowering, op: Op) -> ir.Value:
    """`list[start:stop:step]`."""
    rows = given_list(to, op)
    return _part(to, op, rows, *slice_bounds(to, op, count_of(to.scope, rows)))


def stacked_along(to: Lowering, arg: Value, axis: int) -> ir.Value:
    """`torch.stack` of a list that is a tensor."""
    rows = _some_rows(to, arg, "RuntimeError", "stack expects a non-empty TensorList")
    return _moved(to, rows, axis)


def joined_along(to: Lowering, arg: Value, axis: int) -> ir.Value:
    """`torch.cat` of a list that is a tensor."""
    rows = _some_rows(to, arg, "ValueError", "torch.cat(): expected a non-empty list of Tensors")
    scope, rows = to.scope, _moved(to, rows, axis)
    sizes = scope.emit("Shape", rows)
    before, both, after = (
        scope.emit("Slice", sizes, scope.int64([start]), scope.int64([stop]))
        for start, stop in ((0, axis), (axis, axis + 2), (axis + 2, LAST))
    )
    length = scope.emit("ReduceProd", both, shape=[1], keepdims=1)
    shape = scope.emit("Concat", before, length, after, axis=0)
    return scope.emit("Reshape", rows, shape, allowzero=1)


def _some_rows(to: Lowering, arg: Value, error: str, text: str) -> ir.Value:
    """A list, which torch asks to have items."""
    rows = to.value(arg)
    some = to.scope.scalar("Greater", count_of(to.scope, rows), to.scope.int64(0))
    to.check(some, error, text)
    return rows


def _moved(to: Lowering, rows: ir.Value, axis: int) -> ir.Value:
    """The dimension of the items put after `axis` others."""
    if not axis:
        return rows
    assert rows.shape is not None
    order = [*range(1, axis + 1), 0, *range(axis + 1, len(rows.shape))]
    return to.scope.emit("Transpose", rows, perm=order)


STACKED: Mapping[str, Callable[[Lowering, Op], ir.Value]] = MappingProxyType(
    {
        "stator::list_make": make,
        "stator::list_length": length,
        "stator::list_get": get,
        "stator::list_slice": slice_of,
        "stator::list_append": append,
        "stator::list_insert": insert,
        "stator::list_set": replace,
        "stator::list_delete": delete,
    }
)
