"""Ops of torch that its function library lacks, or writes in a way that is not always right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import onnx_ir as ir

from stator.export.onnx.library import (
    arguments_of,
    bind_one,
    bind_results,
    call,
    dtype_of,
    operand,
    promoted_dtype,
    rank,
)
from stator.export.onnx.lists import list_type, raises, stacked
from stator.export.onnx.lowering import Lowering
from stator.export.onnx.numbers import number
from stator.export.onnx.scope import D
from stator.export.onnx.types import DTYPES, element_type, onnx_shape, present
from stator.program.ir import Arg, Literal, Op, Value
from stator.program.registry import resolve
from stator.program.sizes import is_static
from stator.program.types import ListType, TensorType
from stator.torch_private.onnx_library import function_of, new_value

Rule = Callable[[Lowering, Op], Any]
WHOLE = frozenset({D.INT8, D.INT16, D.INT32, D.INT64, D.UINT8, D.UINT16, D.UINT32, D.UINT64})


def same(to: Lowering, op: Op) -> ir.Value:
    """The tensor itself: without memory, a copy and a view are the same."""
    return to.value(op.args[0])


def argument(op: Op, name: str, default: Arg = None) -> Arg:
    """One argument by name."""
    return arguments_of(op).get(name, default)


def tensor_type(arg: Arg) -> TensorType:
    """The type of a tensor."""
    assert isinstance(arg, Value)
    kind = present(arg.type)
    assert isinstance(kind, TensorType)
    return kind


def dtype_of_result(to: Lowering, op: Op) -> ir.DataType:
    """The element type of the first result."""
    return element_type(op.results[0].type, to.place)


def converted(to: Lowering, op: Op) -> ir.Value:
    """`to(...)`, `type_as` and the like: the declared result says which dtype."""
    return to.scope.cast(to.value(op.args[0]), dtype_of_result(to, op))


def item(to: Lowering, op: Op) -> ir.Value:
    """The only element of a tensor, as a number."""
    found, dtype = to.value(op.args[0]), dtype_of_result(to, op)
    if rank(op.args[0]):
        found = to.scope.emit("Reshape", found, to.scope.int64([]), dtype=found.dtype, shape=[])
        raises(to, found, "RuntimeError", "a tensor with several elements cannot be a number")
    return to.scope.cast(found, dtype)


def size(to: Lowering, op: Op) -> ir.Value:
    """One size of a tensor."""
    dim = argument(op, "dim")
    if not isinstance(dim, int):
        to.refuse(f"{op.name} needs a constant dimension")
    assert isinstance(dim, int)
    to.small.add(op.results[0])
    start = dim % rank(op.args[0])
    found = to.scope.emit("Shape", to.value(op.args[0]), dtype=D.INT64, shape=[1],
                          attributes={"start": start, "end": start + 1})  # fmt: skip
    return to.scope.emit("Squeeze", found, to.scope.int64([0]), dtype=D.INT64, shape=[])


def element_count(to: Lowering, op: Op) -> ir.Value:
    """`numel()`."""
    to.small.add(op.results[0])
    return to.scope.emit("Size", to.value(op.args[0]), dtype=D.INT64, shape=[])


def copied(to: Lowering, op: Op) -> ir.Value:
    """`copy(self, src)`: of the shape and dtype of `self`."""
    return spread(to, op, to.value(op.args[1], op.results[0].type), op.args[1])


def filled(to: Lowering, op: Op) -> ir.Value:
    """`fill` and `zero`."""
    if op.name == "aten::zero":
        return spread(to, op, to.scope.constant(0, dtype_of_result(to, op)), None)
    value = argument(op, "value")
    return spread(to, op, _scalar(to, value, dtype_of_result(to, op)), value)


def _scalar(to: Lowering, arg: Arg, dtype: ir.DataType) -> ir.Value:
    if isinstance(arg, Value):
        return to.scope.cast(to.value(arg), dtype)
    return to.scope.constant(arg, dtype)


def spread(to: Lowering, op: Op, value: ir.Value, arg: Arg) -> ir.Value:
    """`value` in the shape and dtype of the first argument."""
    value = to.scope.cast(value, dtype_of_result(to, op))
    kind = tensor_type(op.args[0])
    if isinstance(arg, Value) and present(arg.type) == kind and is_static(kind.shape):
        return value
    shape = shape_of(to, op.args[0])
    return to.scope.emit("Expand", value, shape, dtype=value.dtype)


def shape_of(to: Lowering, arg: Arg) -> ir.Value:
    """The sizes of a tensor, as a tensor."""
    kind = tensor_type(arg)
    if is_static(kind.shape):
        return to.scope.int64([size for size in kind.shape if isinstance(size, int)])
    return to.scope.emit("Shape", to.value(arg), dtype=D.INT64, shape=[len(kind.shape)])


def joined(to: Lowering, op: Op) -> Any:
    """`cat` and `stack`, of tensors or of a list."""
    tensors, dim = op.args[0], argument(op, "dim", 0)
    is_stack = op.name == "aten::stack"
    result = op.results[0].type
    assert isinstance(result, TensorType)
    assert isinstance(dim, int)
    dtype = dtype_of_result(to, op)
    axis = dim % len(result.shape)
    if isinstance(tensors, Value):
        found = to.scope.emit("ConcatFromSequence", to.value(tensors), dtype=dtype,
                              attributes={"axis": axis, "new_axis": int(is_stack)})  # fmt: skip
        return raises(to, found, "RuntimeError", "expected a non-empty list of tensors that fit")
    assert isinstance(tensors, tuple)
    parts = []
    for one in tensors:
        if len(tensor_type(one).shape) != len(result.shape) - is_stack:
            continue  # torch leaves out empty vectors
        part = to.scope.cast(to.value(one), dtype)
        if is_stack:
            part = to.scope.emit("Unsqueeze", part, to.scope.int64([axis]), dtype=dtype)
        parts.append(part)
    return to.scope.emit("Concat", *parts, dtype=dtype, attributes={"axis": axis})


def select_scatter(to: Lowering, op: Op) -> ir.Value:
    """A tensor with one slice of it replaced."""
    dim, index = _dim(to, op), argument(op, "index")
    scope, dtype = to.scope, dtype_of_result(to, op)
    source = scope.cast(to.value(op.args[1]), dtype)
    source = scope.emit("Unsqueeze", source, scope.int64([dim]), dtype=dtype)
    place = scope.emit("Expand", number(to, index, "int"), scope.emit("Shape", source, dtype=D.INT64),
                       dtype=D.INT64)  # fmt: skip
    found = scope.emit("ScatterElements", to.value(op.args[0]), place, source, dtype=dtype,
                       attributes={"axis": dim})  # fmt: skip
    return raises(to, found, "IndexError", "select(): index out of range")


def _dim(to: Lowering, op: Op) -> int:
    dim = argument(op, "dim", 0)
    if not isinstance(dim, int):
        to.refuse(f"{op.name} needs a constant dimension")
    assert isinstance(dim, int)
    return dim % max(1, rank(op.args[0]))


def slice_scatter(to: Lowering, op: Op) -> ir.Value:
    """A tensor with some slices of it replaced."""
    dim, scope, dtype = _dim(to, op), to.scope, dtype_of_result(to, op)
    ends = (("start", 0), ("end", 2**63 - 1))
    bounds = [
        scope.emit("Reshape", number(to, 0 if arg is None and name == "start" else arg, "int"),
                   scope.int64([1]), dtype=D.INT64, shape=[1])
        for name, default in ends
        for arg in (argument(op, name, default),)
    ]  # fmt: skip
    step = argument(op, "step", 1)
    count = scope.emit("Gather", shape_of(to, op.args[0]), scope.int64(dim), dtype=D.INT64, shape=[])
    places = scope.emit("Range", scope.int64(0), count, scope.int64(1), dtype=D.INT64)
    places = scope.emit("Slice", places, *bounds, scope.int64([0]),
                        scope.int64([int(step)]), dtype=D.INT64)  # type: ignore[arg-type]  # fmt: skip
    source = scope.cast(to.value(op.args[1]), dtype)
    after = [1] * (rank(op.args[0]) - dim - 1)
    column = scope.emit("Reshape", places, scope.int64([-1, *after]), dtype=D.INT64)
    places = scope.emit("Expand", column, scope.emit("Shape", source, dtype=D.INT64), dtype=D.INT64)
    return scope.emit("ScatterElements", to.value(op.args[0]), places, source, dtype=dtype,
                      attributes={"axis": dim})  # fmt: skip


def divided(to: Lowering, op: Op) -> None:
    """`//`, `%` and rounded divisions: a division of integers by zero is an error."""
    wanted = promoted_dtype(op, pointwise=True)
    names = list(arguments_of(op))
    divisor = arguments_of(op)[names[1]]
    function = function_of(resolve(op.name))
    if wanted is None or wanted.is_floating_point or not isinstance(divisor, Value):
        if wanted is not None and not wanted.is_floating_point and divisor == 0:
            to.refuse(f"{op.name} divides by zero")
        if op.name == "aten::floor_divide" or function is None:
            to.bind(op.results[0], _floor_divide(to, op, wanted))
        else:
            call(to, op, function)
        return
    found = operand(to, divisor, wanted)
    scope, zero = to.scope, to.scope.constant(0, found.dtype)
    is_zero = scope.emit("Equal", found, zero, dtype=D.BOOL, shape=found.shape)
    flags = scope.cast(is_zero, D.INT64)
    some = scope.emit("ReduceMax", flags, dtype=D.INT64, shape=[], attributes={"keepdims": 0})
    to.check(scope.boolean("Equal", some, scope.int64(0)), "RuntimeError", "ZeroDivisionError")
    safe = scope.emit("Where", is_zero, scope.constant(1, found.dtype), found, dtype=found.dtype,
                      shape=found.shape)  # fmt: skip
    to.bind(op.results[0], _whole_division(to, op, operand(to, op.args[0], wanted), safe))


def _whole_division(to: Lowering, op: Op, one: ir.Value, other: ir.Value) -> ir.Value:
    scope, dtype = to.scope, one.dtype
    base = op.name.partition(".")[0]
    mode = argument(op, "rounding_mode")
    if base == "aten::fmod":
        return scope.emit("Mod", one, other, dtype=dtype, attributes={"fmod": 1})
    if base == "aten::div" and mode == "trunc":
        return scope.emit("Div", one, other, dtype=dtype)
    rest = scope.emit("Mod", one, other, dtype=dtype, attributes={"fmod": 0})
    if base == "aten::remainder":
        return rest
    return scope.emit("Div", scope.emit("Sub", one, rest, dtype=dtype), other, dtype=dtype)


def _floor_divide(to: Lowering, op: Op, wanted: Any) -> ir.Value:
    one, other = (operand(to, arg, wanted) for arg in op.args[:2])
    if wanted.is_floating_point:
        quotient = to.scope.emit("Div", one, other, dtype=one.dtype)
        return to.scope.emit("Floor", quotient, dtype=one.dtype)
    return _whole_division(to, op, one, other)


def divide(to: Lowering, op: Op) -> None:
    """`div` with a rounding mode; without one it gives fractions."""
    if argument(op, "rounding_mode") is None:
        wanted = promoted_dtype(op, pointwise=True)
        one, other = (operand(to, arg, wanted) for arg in op.args[:2])
        to.bind(op.results[0], to.scope.emit("Div", one, other, dtype=one.dtype))
    else:
        divided(to, op)


def of_elements(to: Lowering, op: Op) -> None:
    """A reduction that an empty tensor does not have."""
    kind = tensor_type(op.args[0])
    if not is_static(kind.shape) or 0 in kind.shape:
        count = to.scope.emit("Size", to.value(op.args[0]), dtype=D.INT64, shape=[])
        some = to.scope.boolean("Greater", count, to.scope.int64(0))
        to.check(some, "RuntimeError", f"{op.name}: the tensor has no elements")
    if kind.dtype == "bool":
        to.refuse(f"{op.name} of booleans", "convert to integers first")
    function = function_of(resolve(op.name))
    assert function is not None
    call(to, op, function)


def indexed(to: Lowering, op: Op) -> None:
    """A lookup by indices that must not be negative: ONNX would count from the end."""
    name = "indices" if op.name == "aten::embedding" else "index"
    indices = argument(op, name)
    found = to.value(indices)
    kind = tensor_type(indices)
    if 0 not in kind.shape:
        least = found
        if kind.shape:
            flags = to.scope.cast(
                to.scope.emit("Less", found, to.scope.constant(0, found.dtype), dtype=D.BOOL),
                D.INT64,
            )
            some = to.scope.emit("ReduceSum", flags, dtype=D.INT64, shape=[],
                                 attributes={"keepdims": 0})  # fmt: skip
            fine = to.scope.boolean("Equal", some, to.scope.int64(0))
        else:
            fine = to.scope.boolean("GreaterOrEqual", least, to.scope.constant(0, found.dtype))
        to.check(fine, "IndexError", "index out of range in self")
    function = function_of(resolve(op.name))
    if function is None:
        to.refuse(f"{op.name} has no counterpart in torch's function library for ONNX")
    start = len(to.scope.nodes)
    call(to, op, function)
    for node in to.scope.nodes[start:]:
        if node.op_type.startswith("Gather"):
            node.metadata_props["stator.error"] = "IndexError: index out of range in self"


def picked(to: Lowering, op: Op) -> ir.Value:
    """`select`: one slice, by an index that may count from the end."""
    dim = _dim(to, op)
    index = number(to, argument(op, "index"), "int")
    found = to.scope.emit("Gather", to.value(op.args[0]), index, dtype=dtype_of_result(to, op),
                          attributes={"axis": dim})  # fmt: skip
    return raises(to, found, "IndexError", "select(): index out of range")


def summed(to: Lowering, op: Op) -> None:
    """Sums and products: in the dtype of the result."""
    dtype, name = dtype_of_result(to, op), op.name.partition(".")[0].removeprefix("aten::")
    found = to.scope.cast(to.value(op.args[0]), dtype)
    dims, keep = argument(op, "dim"), argument(op, "keepdim", False)
    if name == "cumsum":
        axis = to.scope.int64(_dim(to, op))
        result = found if not rank(op.args[0]) else to.scope.emit("CumSum", found, axis, dtype=dtype)
        to.bind(op.results[0], _own(to, result))
        return
    if isinstance(dims, int):
        dims = (dims,)
    count = rank(op.args[0])
    axes = None
    if isinstance(dims, tuple) and dims and count:
        axes = to.scope.int64([int(dim) % count for dim in dims])  # type: ignore[arg-type]
    node = {"sum": "ReduceSum", "prod": "ReduceProd", "mean": "ReduceMean"}[name]
    if not count:
        to.bind(op.results[0], _own(to, found))
        return
    result = to.scope.emit(node, found, axes, dtype=dtype, attributes={"keepdims": int(bool(keep))})
    to.bind(op.results[0], result)


def _own(to: Lowering, value: ir.Value) -> ir.Value:
    return to.scope.emit("Identity", value, kind=value.type, shape=value.shape)


def variance(to: Lowering, op: Op) -> ir.Value:
    """`var` and `std` with a correction."""
    scope, dtype = to.scope, dtype_of_result(to, op)
    found, count = to.value(op.args[0]), rank(op.args[0])
    dims, keep = argument(op, "dim"), bool(argument(op, "keepdim", False))
    correction = argument(op, "correction", 1)
    correction = 1 if correction is None else correction
    chosen = sorted(int(d) % count for d in dims) if isinstance(dims, tuple) and dims else [*range(count)]  # type: ignore[arg-type]
    axes = scope.int64(chosen)
    mean = scope.emit("ReduceMean", found, axes, dtype=dtype, attributes={"keepdims": 1})
    distance = scope.emit("Sub", found, mean, dtype=dtype)
    squares = scope.emit("Mul", distance, distance, dtype=dtype)
    total = scope.emit("ReduceSum", squares, axes, dtype=dtype, attributes={"keepdims": int(keep)})
    sizes = scope.emit("Gather", shape_of(to, op.args[0]), axes, dtype=D.INT64)
    number_of = scope.emit("ReduceProd", sizes, dtype=D.INT64, shape=[], attributes={"keepdims": 0})
    divisor = scope.emit("Sub", scope.cast(number_of, dtype), scope.constant(correction, dtype),
                         dtype=dtype, shape=[])  # fmt: skip
    divisor = scope.emit("Max", divisor, scope.constant(0, dtype), dtype=dtype, shape=[])
    result = scope.emit("Div", total, divisor, dtype=dtype)
    return scope.emit("Sqrt", result, dtype=dtype) if op.name.startswith("aten::std") else result


def argsort(to: Lowering, op: Op) -> ir.Value:
    """The positions that sort a tensor; equal elements keep their order."""
    found, dim = to.value(op.args[0]), argument(op, "dim", -1)
    assert isinstance(dim, int)
    if not rank(op.args[0]):
        return to.scope.int64(0)
    axis = dim % rank(op.args[0])
    if found.dtype is D.BOOL:
        found = to.scope.cast(found, D.INT64)
    sizes = shape_of(to, op.args[0])
    count = to.scope.emit("Gather", sizes, to.scope.int64([axis]), dtype=D.INT64, shape=[1])
    values, places = new_value("", ir.TensorType(found.dtype), None), new_value(
        "", ir.TensorType(D.INT64), None
    )
    largest = int(bool(argument(op, "descending", False)))
    to.scope.node("TopK", [found, count], [values, places],
                  {"axis": axis, "largest": largest, "sorted": 1})  # fmt: skip
    return places


def unique(to: Lowering, op: Op) -> None:
    """The sorted distinct elements, and what was asked for beside them."""
    found = to.value(op.args[0])
    flat = to.scope.emit("Reshape", found, to.scope.int64([-1]), dtype=found.dtype)
    kinds = [found.dtype, D.INT64, D.INT64, D.INT64]
    outputs = [new_value("", ir.TensorType(kind), ir.Shape([None])) for kind in kinds]
    to.scope.node("Unique", [flat], outputs, {"sorted": 1})
    inverse = to.scope.emit("Reshape", outputs[2], shape_of(to, op.args[0]), dtype=D.INT64)
    for value, given in zip(op.results, (outputs[0], inverse, outputs[3]), strict=False):
        to.bind(value, given)


def index_add(to: Lowering, op: Op) -> ir.Value:
    """Slices added at indices."""
    dim, scope, dtype = _dim(to, op), to.scope, dtype_of_result(to, op)
    source = scope.cast(to.value(argument(op, "source")), dtype)
    alpha = argument(op, "alpha", 1)
    if alpha != 1:
        source = scope.emit("Mul", source, _scalar(to, alpha, dtype), dtype=dtype)
    index = scope.cast(to.value(argument(op, "index")), D.INT64)
    after = [1] * (rank(op.args[0]) - dim - 1)
    column = scope.emit("Reshape", index, scope.int64([-1, *after]), dtype=D.INT64)
    places = scope.emit("Expand", column, scope.emit("Shape", source, dtype=D.INT64), dtype=D.INT64)
    return scope.emit("ScatterElements", to.value(op.args[0]), places, source, dtype=dtype,
                      attributes={"axis": dim, "reduction": "add"})  # fmt: skip


def linear(to: Lowering, one: ir.Value, weight: Arg, bias: Arg) -> ir.Value:
    """`one @ weight.T + bias`."""
    turned = to.scope.emit("Transpose", to.value(weight), dtype=one.dtype, attributes={"perm": [1, 0]})
    product = to.scope.emit("MatMul", one, turned, dtype=one.dtype)
    if bias is None:
        return product
    return to.scope.emit("Add", product, to.value(bias), dtype=one.dtype)


def _cell_parts(to: Lowering, op: Op, count: int) -> tuple[ir.Value, list[ir.Value], list[ir.Value]]:
    """The state of a recurrent cell, and its gates from the input and from the state."""
    names = ("w_ih", "w_hh", "b_ih", "b_hh")
    w_ih, w_hh, b_ih, b_hh = (argument(op, name) for name in names)
    state_arg = argument(op, "hx")
    state = to.value(state_arg[0] if isinstance(state_arg, tuple) else state_arg)
    gates = []
    for source, weight, bias in ((to.value(op.args[0]), w_ih, b_ih), (state, w_hh, b_hh)):
        whole = linear(to, source, weight, bias)
        parts = [new_value("", ir.TensorType(whole.dtype), None) for _ in range(count)]
        to.scope.node("Split", [whole], parts, {"axis": -1, "num_outputs": count})
        gates.append(parts)
    return state, gates[0], gates[1]


def _node(to: Lowering, name: str, *args: ir.Value) -> ir.Value:
    return to.scope.emit(name, *args, dtype=args[0].dtype)


def lstm_cell(to: Lowering, op: Op) -> None:
    """One step of an LSTM."""
    _, given, kept = _cell_parts(to, op, 4)
    inner, forget, cell, outer = (
        _node(to, name, _node(to, "Add", a, b))
        for name, a, b in zip(("Sigmoid", "Sigmoid", "Tanh", "Sigmoid"), given, kept, strict=True)
    )
    before = argument(op, "hx")
    assert isinstance(before, tuple)
    memory = _node(to, "Add", _node(to, "Mul", forget, to.value(before[1])),
                   _node(to, "Mul", inner, cell))  # fmt: skip
    to.bind(op.results[0], _node(to, "Mul", outer, _node(to, "Tanh", memory)))
    to.bind(op.results[1], memory)


def gru_cell(to: Lowering, op: Op) -> ir.Value:
    """One step of a GRU."""
    state, given, kept = _cell_parts(to, op, 3)
    reset, update = (
        _node(to, "Sigmoid", _node(to, "Add", a, b))
        for a, b in zip(given[:2], kept[:2], strict=True)
    )
    new = _node(to, "Tanh", _node(to, "Add", given[2], _node(to, "Mul", reset, kept[2])))
    return _node(to, "Add", new, _node(to, "Mul", update, _node(to, "Sub", state, new)))


def rnn_cell(function: str) -> Rule:
    """One step of an Elman network."""

    def lower(to: Lowering, op: Op) -> ir.Value:
        _, (given,), (kept,) = _cell_parts_of_one(to, op)
        return _node(to, function, _node(to, "Add", given, kept))

    return lower


def _cell_parts_of_one(to: Lowering, op: Op) -> tuple[None, list[ir.Value], list[ir.Value]]:
    w_ih, w_hh, b_ih, b_hh = (argument(op, name) for name in ("w_ih", "w_hh", "b_ih", "b_hh"))
    one = linear(to, to.value(op.args[0]), w_ih, b_ih)
    return None, [one], [linear(to, to.value(argument(op, "hx")), w_hh, b_hh)]


def dropout(to: Lowering, op: Op) -> ir.Value:
    """Nothing, unless it is on."""
    rate, is_on = op.args[1:3]
    if is_on is False or rate == 0:
        return to.value(op.args[0])
    return to.refuse(f"{op.name} draws random numbers in training mode", "call `.eval()` first")  # type: ignore[no-any-return]


def scalar_tensor(to: Lowering, op: Op) -> ir.Value:
    """A number as a tensor."""
    return _own(to, _scalar(to, op.args[0], dtype_of_result(to, op)))


def same_as(name: str) -> Rule:
    """An op under another name."""

    def lower(to: Lowering, op: Op) -> None:
        function = function_of(resolve(name))
        assert function is not None
        call(to, op, function)

    return lower


def filled_with(value: int) -> Rule:
    """`zeros`, `ones` and those like another tensor."""

    def lower(to: Lowering, op: Op) -> ir.Value:
        dtype = dtype_of_result(to, op)
        first = op.args[0]
        if op.name.endswith("_like"):
            shape = shape_of(to, first)
        else:
            sizes = argument(op, "size")
            shape = sizes_of(to, sizes if isinstance(sizes, tuple) else (sizes,))
        filler = ir.tensor([value], dtype=dtype)
        return to.scope.emit("ConstantOfShape", shape, dtype=dtype, attributes={"value": filler})

    return lower


def sizes_of(to: Lowering, sizes: Sequence[Arg]) -> ir.Value:
    """Sizes as a tensor."""
    if all(isinstance(size, int) for size in sizes):
        return to.scope.int64([int(size) for size in sizes])  # type: ignore[arg-type]
    one = to.scope.int64([1])
    parts = [
        to.scope.emit("Reshape", number(to, size, "int"), one, dtype=D.INT64, shape=[1])
        for size in sizes
    ]
    return to.scope.emit("Concat", *parts, dtype=D.INT64, attributes={"axis": 0})


def compared(name: str, *, negated: bool = False) -> Rule:
    """A comparison, in the dtype that both have in common."""

    def lower(to: Lowering, op: Op) -> ir.Value:
        wanted = promoted_dtype(op, pointwise=True)
        pair = [operand(to, arg, wanted) for arg in op.args[:2]]
        if pair[0].dtype is D.BOOL and name != "Equal":
            pair = [to.scope.cast(one, D.INT64) for one in pair]
        found = to.scope.emit(name, *pair, dtype=D.BOOL)
        return to.scope.emit("Not", found, dtype=D.BOOL) if negated else found

    return lower


def powered(to: Lowering, op: Op) -> ir.Value:
    """Powers; of integers only with a constant exponent, by multiplication."""
    dtype = dtype_of_result(to, op)
    base, exponent = op.args[:2]
    if dtype in WHOLE:
        if not isinstance(exponent, int) or not 0 <= exponent <= 16:
            to.refuse("a power of integer tensors needs a constant exponent from 0 to 16 in ONNX")
        found = to.scope.cast(to.value(base), dtype)
        if exponent == 0:
            return spread(to, op, to.scope.constant(1, dtype), None)
        product = found
        for _ in range(int(exponent) - 1):  # type: ignore[arg-type] # an int
            product = to.scope.emit("Mul", product, found, dtype=dtype)
        return product
    pair = [_scalar(to, arg, dtype) for arg in (base, exponent)]
    return to.scope.emit("Pow", *pair, dtype=dtype)


def reshaped(to: Lowering, op: Op) -> ir.Value:
    """`view`, `reshape` and `unflatten`: by the sizes that the program declares, where it knows."""
    result = op.results[0].type
    assert isinstance(result, TensorType)
    found = to.value(op.args[0])
    if is_static(result.shape):
        shape = to.scope.int64([size for size in result.shape if isinstance(size, int)])
    elif op.name.startswith("aten::unflatten"):
        dim = _dim(to, op)
        parts = argument(op, "sizes")
        assert isinstance(parts, tuple)
        whole = to.scope.emit("Shape", found, dtype=D.INT64)
        ends = [to.scope.emit("Slice", whole, to.scope.int64([a]), to.scope.int64([b]),
                              dtype=D.INT64) for a, b in ((0, dim), (dim + 1, 2**31))]  # fmt: skip
        shape = to.scope.emit("Concat", ends[0], sizes_of(to, parts), ends[1], dtype=D.INT64,
                              attributes={"axis": 0})  # fmt: skip
    else:
        sizes = argument(op, "size", argument(op, "shape"))
        assert isinstance(sizes, tuple)
        shape = sizes_of(to, sizes)
    return to.scope.emit("Reshape", found, shape, dtype=found.dtype, attributes={"allowzero": _zero(op)})


def _zero(op: Op) -> int:
    """With -1 among the sizes, ONNX takes 0 as the size that was."""
    sizes = argument(op, "size", argument(op, "shape"))
    result = op.results[0].type
    assert isinstance(result, TensorType)
    return int(is_static(result.shape) or not (isinstance(sizes, tuple) and -1 in sizes))


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **dict.fromkeys(
            ("aten::clone", "aten::detach", "aten::alias", "aten::contiguous", "aten::lift_fresh",
             "aten::resolve_conj", "aten::resolve_neg", "aten::lift_fresh_copy",
             "aten::detach_copy", "aten::alias_copy", "aten::positive"), same),
        **dict.fromkeys(
            ("aten::to.dtype", "aten::to.dtype_layout", "aten::to.device", "aten::to.other",
             "aten::_to_copy", "aten::type_as", "aten::_cast_Float", "aten::_cast_Long"), converted),
        **dict.fromkeys(("aten::item", "aten::is_nonzero", "aten::_local_scalar_dense"), item),
        "aten::sym_size.int": size,
        "aten::sym_numel": element_count,
        "aten::numel": element_count,
        "aten::copy": copied,
        "aten::fill.Tensor": filled,
        "aten::fill.Scalar": filled,
        "aten::zero": filled,
        "aten::cat": joined,
        "aten::concat": joined,
        "aten::stack": joined,
        "aten::select_scatter": select_scatter,
        "aten::slice_scatter": slice_scatter,
        **dict.fromkeys(
            ("aten::floor_divide", "aten::floor_divide.Scalar", "aten::remainder.Tensor",
             "aten::remainder.Scalar", "aten::remainder.Scalar_Tensor", "aten::fmod.Tensor",
             "aten::fmod.Scalar"), divided),
        "aten::div.Tensor": divide,
        "aten::div.Scalar": divide,
        "aten::div.Tensor_mode": divide,
        "aten::div.Scalar_mode": divide,
        "aten::true_divide.Tensor": divide,
        **dict.fromkeys(
            ("aten::max", "aten::min", "aten::argmax", "aten::argmin", "aten::amax", "aten::amin",
             "aten::max.dim", "aten::min.dim"), of_elements),
        **dict.fromkeys(("aten::embedding", "aten::index_select", "aten::gather"), indexed),
        "aten::select.int": picked,
        **dict.fromkeys(("aten::sum", "aten::sum.dim_IntList", "aten::prod", "aten::prod.dim_int",
                         "aten::cumsum", "aten::mean", "aten::mean.dim"), summed),
        "aten::std.correction": variance,
        "aten::var.correction": variance,
        "aten::argsort": argsort,
        "aten::argsort.stable": argsort,
        "aten::_unique2": unique,
        "aten::index_add": index_add,
        **dict.fromkeys(
            ("aten::pow.Tensor_Scalar", "aten::pow.Tensor_Tensor", "aten::pow.Scalar"), powered),
        "aten::lstm_cell": lstm_cell,
        "aten::gru_cell": gru_cell,
        "aten::rnn_tanh_cell": rnn_cell("Tanh"),
        "aten::rnn_relu_cell": rnn_cell("Relu"),
        "aten::dropout": dropout,
        "aten::feature_dropout": dropout,
        "aten::scalar_tensor": scalar_tensor,
        **{f"aten::{name}": filled_with(value) for name, value in
           (("zeros", 0), ("zeros_like", 0), ("ones", 1), ("ones_like", 1))},
        **{f"aten::{name}.{kind}": compared(node, negated=negated)
           for names, node, negated in (
               (("eq",), "Equal", False), (("ne", "not_equal"), "Equal", True),
               (("lt", "less"), "Less", False), (("le", "less_equal"), "LessOrEqual", False),
               (("gt", "greater"), "Greater", False),
               (("ge", "greater_equal"), "GreaterOrEqual", False))
           for name in names for kind in ("Tensor", "Scalar")},
        **dict.fromkeys(("aten::view", "aten::reshape", "aten::_unsafe_view",
                         "aten::unflatten.int"), reshaped),
    }
)  # fmt: skip


def lower_own(to: Lowering, op: Op) -> None:
    """An op of torch by a rule of ours."""
    found = RULES[op.name](to, op)
    if found is not None:
        bind_one(to, op.results[0], found)


