"""Lists of unknown length: sequences of tensors; a number in one is a tensor without dimensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import onnx_ir as ir

from stator.export.onnx.lowering import Lowering
from stator.export.onnx.numbers import number
from stator.export.onnx.scope import D, GraphScope, dtype_in
from stator.export.onnx.types import element_type, onnx_shape, onnx_type, present
from stator.program.ir import Arg, Op, Value
from stator.program.registry import constant_of
from stator.program.types import ListType, NumberType, TensorType, Type
from stator.torch_private.onnx_library import new_value

Rule = Callable[[Lowering, Op], ir.Value]
OUT_OF_RANGE = "list index out of range"


def list_type(arg: Arg | Value) -> ListType:
    """The type of a list."""
    assert isinstance(arg, Value)
    kind = present(arg.type)
    assert isinstance(kind, ListType)
    return kind


def make(to: Lowering, op: Op) -> ir.Value:
    """A list of these items."""
    kind = list_type(op.results[0])
    if not op.args:
        return to.absent(kind)
    dtype = element_type(kind.element, to.place)
    items = [to.scope.cast(to.value(arg, kind.element), dtype) for arg in op.args]
    return to.scope.emit("SequenceConstruct", *items, kind=onnx_type(kind, to.place))


def length_of(to: Lowering, sequence: ir.Value) -> ir.Value:
    """How many items there are."""
    return to.scope.emit("SequenceLength", sequence, dtype=D.INT64, shape=[])


def length(to: Lowering, op: Op) -> ir.Value:
    """The length of a list."""
    to.small.add(op.results[0])
    return length_of(to, to.value(op.args[0]))


def raises(value: ir.Value, error: str, text: str) -> ir.Value:
    """The node of `value` fails where Python raises this error; who runs the model looks it up."""
    producer = value.producer()
    assert producer is not None
    producer.metadata_props["stator.error"] = f"{error}: {text}"
    return value


def get(to: Lowering, op: Op) -> ir.Value:
    """One item."""
    index = number(to, op.args[1], "int")
    element = list_type(op.args[0]).element
    found = to.scope.emit(
        "SequenceAt", to.value(op.args[0]), index, dtype=element_type(element, to.place),
        shape=onnx_shape(element),
    )  # fmt: skip
    return raises(found, "IndexError", OUT_OF_RANGE)


def append(to: Lowering, op: Op) -> ir.Value:
    """The list with one more item."""
    return to.scope.emit(
        "SequenceInsert", to.value(op.args[0]), _item(to, op, op.args[1]),
        kind=onnx_type(list_type(op.results[0]), to.place),
    )  # fmt: skip


def _item(to: Lowering, op: Op, arg: Arg) -> ir.Value:
    element = list_type(op.results[0]).element
    return to.scope.cast(to.value(arg, element), element_type(element, to.place))


def insert(to: Lowering, op: Op) -> ir.Value:
    """The list with an item put before an index, which may lie outside of it."""
    scope, sequence = to.scope, to.value(op.args[0])
    count, index = length_of(to, sequence), number(to, op.args[1], "int")
    least = scope.emit("Neg", count, dtype=D.INT64, shape=[])
    within = scope.emit("Min", index, count, dtype=D.INT64, shape=[])
    within = scope.emit("Max", within, least, dtype=D.INT64, shape=[])
    return scope.emit(
        "SequenceInsert", sequence, _item(to, op, op.args[2]), within, kind=sequence.type
    )


def replace(to: Lowering, op: Op) -> ir.Value:
    """The list with one item replaced."""
    scope, sequence = to.scope, to.value(op.args[0])
    index, count = number(to, op.args[1], "int"), length_of(to, sequence)
    is_negative = scope.boolean("Less", index, scope.int64(0))
    moved = scope.emit("Add", index, count, dtype=D.INT64, shape=[])
    place = scope.emit("Where", is_negative, moved, index, dtype=D.INT64, shape=[])
    rest = scope.emit("SequenceErase", sequence, place, kind=sequence.type)
    raises(rest, "IndexError", "list assignment index out of range")
    return scope.emit("SequenceInsert", rest, _item(to, op, op.args[2]), place, kind=sequence.type)


def delete(to: Lowering, op: Op) -> ir.Value:
    """The list without one item."""
    sequence = to.value(op.args[0])
    found = to.scope.emit(
        "SequenceErase", sequence, number(to, op.args[1], "int"), kind=sequence.type
    )
    return raises(found, "IndexError", "list assignment index out of range")


def slice_of(to: Lowering, op: Op) -> ir.Value:
    """`list[start:stop:step]`: the positions as a tensor, then a loop over them."""
    scope, sequence = to.scope, to.value(op.args[0])
    start, stop, step = (*op.args[1:], None, None, None)[:3]
    step = 1 if step is None else step
    if not isinstance(step, int) or step == 0:
        to.refuse("the step of a list's slice must be a constant in ONNX")
    assert isinstance(step, int)
    positions = scope.emit(
        "Range", scope.int64(0), length_of(to, sequence), scope.int64(1),
        dtype=D.INT64, shape=ir.Shape([None]),
    )  # fmt: skip
    ends = (-(2**62), 2**62) if step > 0 else (2**62, -(2**62))
    bounds = [
        scope.int64([end]) if arg is None else _vector(scope, number(to, arg, "int"))
        for arg, end in zip((start, stop), ends, strict=True)
    ]
    positions = scope.emit(
        "Slice", positions, *bounds, scope.int64([0]), scope.int64([step]),
        dtype=D.INT64, shape=ir.Shape([None]),
    )  # fmt: skip
    return taken(to, sequence, list_type(op.results[0]), positions)


def _vector(scope: GraphScope, value: ir.Value) -> ir.Value:
    return scope.emit("Reshape", value, scope.int64([1]), dtype=D.INT64, shape=[1])


def taken(to: Lowering, sequence: ir.Value, kind: ListType, positions: ir.Value) -> ir.Value:
    """The items at these positions."""
    count = to.scope.emit("Size", positions, dtype=D.INT64, shape=[])
    start, wanted = to.absent(kind), onnx_type(kind, to.place)
    scope = to.inner()
    at, going, items = (
        new_value("", ir.TensorType(D.INT64), ir.Shape([])),
        new_value("", ir.TensorType(D.BOOL), ir.Shape([])),
        new_value("", wanted, None),
    )
    scope.inputs = [at, going, items]
    index = scope.emit("Gather", positions, at, dtype=D.INT64, shape=[])
    item = scope.emit("SequenceAt", sequence, index, dtype=element_type(kind.element, to.place),
                      shape=onnx_shape(kind.element))  # fmt: skip
    longer = scope.emit("SequenceInsert", items, item, kind=wanted)
    again = scope.emit("Identity", going, dtype=D.BOOL, shape=[])
    body = to.graph("items", [again, longer])
    result = new_value("", wanted, None)
    to.scope.node("Loop", [count, None, start], [result], {"body": body})
    return result


def stacked(to: Lowering, sequence: ir.Value, kind: ListType, *, axis: int = 0) -> ir.Value:
    """The items as one tensor with one more dimension; of an empty list, one without elements."""
    dtype, shape = element_type(kind.element, to.place), onnx_shape(kind.element)
    assert shape is not None
    sizes = [size if isinstance(size, int) else 0 for size in shape]
    is_empty = to.scope.boolean("Equal", length_of(to, sequence), to.scope.int64(0))
    to.inner()
    empty = to.scope.emit(
        "ConstantOfShape", to.scope.int64([*sizes[:axis], 0, *sizes[axis:]]), dtype=dtype,
        attributes={"value": ir.tensor([0], dtype=dtype)},
    )  # fmt: skip
    one = to.graph("empty", [empty])
    to.inner()
    whole = to.scope.emit("ConcatFromSequence", sequence, dtype=dtype,
                          attributes={"axis": axis, "new_axis": 1})  # fmt: skip
    other = to.graph("items", [whole])
    result = new_value("", ir.TensorType(dtype), None)
    to.scope.node("If", [is_empty], [result], {"then_branch": one, "else_branch": other})
    return result


def order(to: Lowering, op: Op) -> ir.Value:
    """The positions of numbers in order; equal ones keep theirs."""
    reverse, *columns = op.args
    element = present(list_type(columns[0]).element)
    if len(columns) != 1 or not isinstance(element, NumberType) or not isinstance(reverse, bool):
        to.refuse("ONNX sorts numbers only, by one key")
    keys = stacked(to, to.value(columns[0]), list_type(columns[0]))
    if keys.dtype is D.BOOL:
        keys = to.scope.cast(keys, D.INT64)
    size = to.scope.emit("Size", keys, dtype=D.INT64, shape=[])
    values = new_value("", ir.TensorType(dtype_in(keys)), ir.Shape([None]))
    places = new_value("", ir.TensorType(D.INT64), ir.Shape([None]))
    attributes = {"axis": 0, "largest": int(bool(reverse)), "sorted": 1}
    to.scope.node("TopK", [keys, _vector(to.scope, size)], [values, places], attributes)
    return as_list(to, places)


def as_list(to: Lowering, tensor: ir.Value) -> ir.Value:
    """The elements of a tensor of one dimension."""
    assert tensor.dtype is not None
    kind = ir.SequenceType(ir.TensorType(tensor.dtype))
    size = to.scope.emit("Size", tensor, dtype=D.INT64, shape=[])
    is_empty = to.scope.boolean("Equal", size, to.scope.int64(0))
    to.inner()
    empty = to.scope.emit("SequenceEmpty", kind=kind, attributes={"dtype": int(tensor.dtype)})
    one = to.graph("empty", [empty])
    to.inner()
    split = to.scope.emit(
        "SplitToSequence", tensor, kind=kind, attributes={"axis": 0, "keepdims": 0}
    )
    other = to.graph("items", [split])
    result = new_value("", kind, None)
    to.scope.node("If", [is_empty], [result], {"then_branch": one, "else_branch": other})
    return result


def to_tensor(to: Lowering, op: Op) -> ir.Value:
    """`torch.tensor(list)`."""
    kind = list_type(op.args[0])
    onnx_type(kind, to.place)
    dtype = constant_of(op.attributes["dtype"])
    found = stacked(to, to.value(op.args[0]), kind)
    wanted = TensorType(str(dtype).removeprefix("torch."), ())
    return to.scope.cast(found, element_type(wanted, to.place))


def from_tensor(to: Lowering, op: Op) -> ir.Value:
    """`tensor.tolist()` of a tensor of one dimension."""
    kind: Type = op.args[0].type if isinstance(op.args[0], Value) else op.results[0].type
    if not isinstance(kind, TensorType) or len(kind.shape) != 1:
        to.refuse("ONNX has no lists of lists")
    element = list_type(op.results[0]).element
    return as_list(to, to.scope.cast(to.value(op.args[0]), element_type(element, to.place)))


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


def lower_list(to: Lowering, op: Op) -> None:
    """A list op."""
    for value in (*op.results, *(arg for arg in op.args if isinstance(arg, Value))):
        onnx_type(value.type, to.place)  # refuses lists of lists
    to.bind(op.results[0], RULES[op.name](to, op))
