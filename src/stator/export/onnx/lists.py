"""Lists of unknown length: tensors where the items have one shape, else sequences.

`stacked_lists` has the rules for the first kind.
"""

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
from stator.export.onnx.scope import D, dtype_in
from stator.export.onnx.sequences import rows_of
from stator.export.onnx.stacked_lists import STACKED
from stator.export.onnx.types import element_type
from stator.program.ir import Op, Value
from stator.program.registry import constant_of
from stator.program.types import ListType, NumberType, TensorType, Type
from stator.program.typing_rules import present
from stator.torch_private.onnx_library import new_value

Rule = Callable[[Lowering, Op], ir.Value]


def make(to: Lowering, op: Op) -> ir.Value:
    """A list of these items."""
    kind = list_type(op.results[0])
    if not op.args:
        return to.absent(kind)
    items = [to.fit(to.value(arg, kind.element), kind.element) for arg in op.args]
    return to.scope.emit("SequenceConstruct", *items, kind=to.type_of(kind))


def length_of(to: Lowering, sequence: ir.Value) -> ir.Value:
    """How many items there are."""
    return to.scope.scalar("SequenceLength", sequence)


def length(to: Lowering, op: Op) -> ir.Value:
    """The length of a list."""
    to.small.add(op.results[0])
    return length_of(to, to.value(op.args[0]))


def get(to: Lowering, op: Op) -> ir.Value:
    """One item."""
    index = number(to, op.args[1], "int")
    element = list_type(op.args[0]).element
    found = to.scope.emit("SequenceAt", to.value(op.args[0]), index, kind=to.type_of(element),
                          shape=to.shape_of(element))  # fmt: skip
    return raises(found, "IndexError", OUT_OF_RANGE)


def append(to: Lowering, op: Op) -> ir.Value:
    """The list with one more item."""
    return to.scope.emit("SequenceInsert", given_list(to, op), item_of(to, op, op.args[1]),
                         kind=to.type_of(op.results[0].type))  # fmt: skip


def insert(to: Lowering, op: Op) -> ir.Value:
    """The list with an item put before an index, which may lie outside of it."""
    scope, sequence = to.scope, given_list(to, op)
    count, index = length_of(to, sequence), number(to, op.args[1], "int")
    least = scope.scalar("Neg", count)
    within = scope.scalar("Min", index, count)
    within = scope.scalar("Max", within, least)
    return scope.emit(
        "SequenceInsert", sequence, item_of(to, op, op.args[2]), within, kind=sequence.type
    )


def replace(to: Lowering, op: Op) -> ir.Value:
    """The list with one item replaced."""
    scope, sequence = to.scope, given_list(to, op)
    index, count = number(to, op.args[1], "int"), length_of(to, sequence)
    is_negative = scope.scalar("Less", index, scope.int64(0))
    moved = scope.scalar("Add", index, count)
    place = scope.scalar("Where", is_negative, moved, index)
    rest = scope.emit("SequenceErase", sequence, place, kind=sequence.type)
    raises(rest, "IndexError", NO_SUCH_ITEM)
    return scope.emit(
        "SequenceInsert", rest, item_of(to, op, op.args[2]), place, kind=sequence.type
    )


def delete(to: Lowering, op: Op) -> ir.Value:
    """The list without one item."""
    sequence = given_list(to, op)
    found = to.scope.emit(
        "SequenceErase", sequence, number(to, op.args[1], "int"), kind=sequence.type
    )
    return raises(found, "IndexError", NO_SUCH_ITEM)


def slice_of(to: Lowering, op: Op) -> ir.Value:
    """`list[start:stop:step]`: the positions as a tensor, then a loop over them."""
    scope, sequence = to.scope, given_list(to, op)
    count = length_of(to, sequence)
    positions = scope.emit("Range", scope.int64(0), count, scope.int64(1), shape=ir.Shape([None]))
    positions = scope.emit("Slice", positions, *slice_bounds(to, op, count), shape=ir.Shape([None]))
    return taken(to, sequence, list_type(op.results[0]), positions)


def taken(to: Lowering, sequence: ir.Value, kind: ListType, positions: ir.Value) -> ir.Value:
    """The items at these positions."""
    count = to.scope.scalar("Size", positions)
    start, wanted = to.absent(kind), to.type_of(kind)
    scope = to.inner()
    at, going, items = (
        new_value("", ir.TensorType(D.INT64), ir.Shape([])),
        new_value("", ir.TensorType(D.BOOL), ir.Shape([])),
        new_value("", wanted, None),
    )
    scope.inputs = [at, going, items]
    index = scope.scalar("Gather", positions, at)
    item = scope.emit("SequenceAt", sequence, index, kind=to.type_of(kind.element),
                      shape=to.shape_of(kind.element))  # fmt: skip
    longer = scope.emit("SequenceInsert", items, item, kind=wanted)
    again = scope.scalar("Identity", going)
    body = to.graph("items", [again, longer])
    result = new_value("", wanted, None)
    to.scope.node("Loop", [count, None, start], [result], {"body": body})
    return result


def order(to: Lowering, op: Op) -> ir.Value:
    """The positions of numbers in order; equal ones keep theirs."""
    reverse, *columns = op.args
    element = present(list_type(columns[0]).element)
    if len(columns) != 1 or not isinstance(element, NumberType) or not isinstance(reverse, bool):
        to.refuse("ONNX sorts numbers only, by one key")
    keys = to.value(columns[0])
    if keys.dtype is D.BOOL:
        keys = to.scope.cast(keys, D.INT64)
    size = to.scope.scalar("Size", keys)
    values = new_value("", ir.TensorType(dtype_in(keys)), ir.Shape([None]))
    places = new_value("", ir.TensorType(D.INT64), ir.Shape([None]))
    attributes = {"axis": 0, "largest": int(bool(reverse)), "sorted": 1}
    to.scope.node("TopK", [keys, vector(to.scope, size)], [values, places], attributes)
    return places


def to_tensor(to: Lowering, op: Op) -> ir.Value:
    """`torch.tensor(list)`."""
    kind = list_type(op.args[0])
    if not to.is_stacked(kind):
        to.refuse("a tensor of lists or of tensors of several shapes")
    dtype = constant_of(op.attributes["dtype"])
    wanted = TensorType(str(dtype).removeprefix("torch."), ())
    found = to.scope.cast(to.value(op.args[0]), element_type(wanted, to.place))
    return to.scope.emit("Identity", found, kind=found.type, shape=found.shape)


def from_tensor(to: Lowering, op: Op) -> ir.Value:
    """`tensor.tolist()` of a tensor of one or two dimensions."""
    kind: Type = op.args[0].type if isinstance(op.args[0], Value) else op.results[0].type
    if not isinstance(kind, TensorType) or len(kind.shape) not in (1, 2):
        to.refuse("ONNX has no lists of lists of lists")
    assert isinstance(kind, TensorType)
    element = present(list_type(op.results[0]).element)
    inner = element.element if isinstance(element, ListType) else element
    found = to.scope.cast(to.value(op.args[0]), element_type(inner, to.place))
    if len(kind.shape) > 1:
        return rows_of(to.scope, found)
    return to.scope.emit("Identity", found, kind=found.type, shape=found.shape)


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "stator::list_make": make,
        "stator::list_length": length,
        "stator::list_get": get,
        "stator::list_slice": slice_of,
        "stator::list_append": append,
        "stator::list_insert": insert,
        "stator::list_set": replace,
        "stator::list_delete": delete,
        "stator::list_order": order,
        "stator::list_tensor": to_tensor,
        "stator::tensor_list": from_tensor,
    }
)


READING = frozenset({"stator::list_length", "stator::list_get", "stator::list_tensor"})


def lower_list(to: Lowering, op: Op) -> None:
    """A list op."""
    for value in (*op.results, *(arg for arg in op.args if isinstance(arg, Value))):
        to.type_of(value.type)  # refuses what ONNX cannot hold
    (result,) = op.results
    whole = op.args[0] if op.name in READING else result  # what is represented in one of two ways
    assert isinstance(whole, Value)
    rules = STACKED if to.is_stacked(whole.type) else RULES
    to.bind(result, rules.get(op.name, RULES[op.name])(to, op))
