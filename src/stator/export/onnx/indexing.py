"""Ops of torch that pick, place, join and sort parts of tensors."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from stator.export.onnx.library import arguments_of, call, rank
from stator.export.onnx.list_operands import raises
from stator.export.onnx.lowering import Lowering
from stator.export.onnx.numbers import number
from stator.export.onnx.operands import (
    argument,
    dimension,
    dtype_of_result,
    own_copy,
    scalar_of,
    shape_of,
    tensor_type,
)
from stator.export.onnx.reductions import without_nan
from stator.export.onnx.scope import D, dtype_in
from stator.export.onnx.stacked_lists import joined_along, stacked_along
from stator.program.ir import Arg, Op, Value
from stator.program.sizes import is_static
from stator.program.types import ListType, TensorType
from stator.program.typing_rules import present
from stator.torch_private.onnx_library import new_value


def select_scatter(to: Lowering, op: Op) -> ir.Value:
    """A tensor with one slice of it replaced."""
    dim, index = dimension(to, op), argument(op, "index")
    scope, dtype = to.scope, dtype_of_result(to, op)
    source = scope.cast(to.value(op.args[1]), dtype)
    source = scope.emit("Unsqueeze", source, scope.int64([dim]))
    sizes = scope.emit("Shape", source)
    place = scope.emit("Expand", number(to, index, "int"), sizes)
    found = scope.emit("ScatterElements", to.value(op.args[0]), place, source, axis=dim)
    return raises(found, "IndexError", "select(): index out of range")


def slice_scatter(to: Lowering, op: Op) -> ir.Value:
    """A tensor with some slices of it replaced."""
    dim, scope, dtype = dimension(to, op), to.scope, dtype_of_result(to, op)
    ends = (("start", 0), ("end", 2**63 - 1))
    bounds = [
        scope.emit("Reshape", number(to, 0 if arg is None and name == "start" else arg, "int"),
                   scope.int64([1]), shape=[1])
        for name, default in ends
        for arg in (argument(op, name, default),)
    ]  # fmt: skip
    step = argument(op, "step", 1)
    count = scope.scalar("Gather", shape_of(to, op.args[0]), scope.int64(dim))
    places = scope.emit("Range", scope.int64(0), count, scope.int64(1))
    places = scope.emit("Slice", places, *bounds, scope.int64([0]),
                        scope.int64([int(step)]))  # type: ignore[arg-type]  # fmt: skip
    source = scope.cast(to.value(op.args[1]), dtype)
    after = [1] * (rank(op.args[0]) - dim - 1)
    column = scope.emit("Reshape", places, scope.int64([-1, *after]))
    places = scope.emit("Expand", column, scope.emit("Shape", source))
    return scope.emit("ScatterElements", to.value(op.args[0]), places, source, axis=dim)


def check_indices(to: Lowering, indices: Arg) -> None:
    """A check that no index is negative."""
    found, kind = to.value(indices), tensor_type(indices)
    if 0 in kind.shape or to.scope.was_checked(found) or _counts_up(found):
        return
    to.scope.checked.add(found)
    least = found if found.dtype is D.INT32 else to.scope.cast(found, D.INT64)
    if kind.shape:  # of no indices, it is the greatest integer
        least = to.scope.scalar("ReduceMin", least, keepdims=0)
    zero = to.scope.constant(0, dtype_in(least))
    fine = to.scope.scalar("GreaterOrEqual", least, zero)
    to.check(fine, "IndexError", "index out of range in self")


def _counts_up(value: ir.Value | None) -> bool:
    """Whether no element can be negative: the places of a `Range`, moved forward if at all."""
    maker = value.producer() if value is not None else None
    if maker is None:
        return False
    if maker.op_type == "Constant":
        (attribute,) = maker.attributes.values()
        return attribute.type is ir.AttributeType.TENSOR and bool(
            (attribute.as_tensor().numpy() >= 0).all()
        )
    if maker.op_type == "Range":
        return _counts_up(maker.inputs[0]) and _counts_up(maker.inputs[2])
    if maker.op_type == "Add":
        return all(map(_counts_up, maker.inputs))
    keeps = ("Unsqueeze", "Squeeze", "Reshape", "Expand", "Slice", "Identity", "Cast", "CastLike")
    return maker.op_type in keeps and _counts_up(maker.inputs[0])


def indexed(to: Lowering, op: Op) -> None:
    """A lookup by indices that must not be negative: ONNX would count from the end."""
    name = "indices" if op.name == "aten::embedding" else "index"
    check_indices(to, argument(op, name))
    start = len(to.scope.nodes)
    call(to, op)
    for node in to.scope.nodes[start:]:
        if node.op_type.startswith("Gather"):
            node.metadata_props["stator.error"] = "IndexError: index out of range in self"


def indexed_by_tensors(to: Lowering, op: Op) -> None:
    """`x[indices]`: where the result has no elements, ONNX Runtime does not look at the indices."""
    shape, indices = tensor_type(op.args[0]).shape, op.args[1]
    assert isinstance(indices, tuple)
    others = [size for k, size in enumerate(shape) if k >= len(indices) or indices[k] is None]
    if not is_static(others):
        for dim, index in enumerate(indices):
            if isinstance(index, Value) and not isinstance(shape[dim], int):
                _check_some(to, op.args[0], dim, index)
    call(to, op)


def _check_some(to: Lowering, tensor: Arg, dim: int, index: Value) -> None:
    """A dimension without elements has none for an index."""
    if tensor_type(index).dtype == "bool":
        return
    scope = to.scope
    size = scope.scalar("Gather", shape_of(to, tensor), scope.int64(dim))
    some = scope.scalar("Greater", size, scope.int64(0))
    count = scope.scalar("Size", to.value(index))
    fine = scope.scalar("Or", some, scope.scalar("Equal", count, scope.int64(0)))
    to.check(fine, "IndexError", "index is out of bounds for dimension with size 0")


def scatter_reduced(to: Lowering, op: Op) -> None:
    """`scatter_reduce`; the library leaves "mean" out without a word."""
    if argument(op, "reduce") == "mean":
        to.refuse('scatter_reduce(reduce="mean") has no counterpart in ONNX',
                  'divide what reduce="sum" gives by the counts')  # fmt: skip
    call(to, op)


def picked(to: Lowering, op: Op) -> ir.Value:
    """`select`: one slice, by an index that may count from the end."""
    dim = dimension(to, op)
    index = number(to, argument(op, "index"), "int")
    found = to.scope.emit("Gather", to.value(op.args[0]), index, axis=dim)
    return raises(found, "IndexError", "select(): index out of range")


def argsort(to: Lowering, op: Op) -> ir.Value:
    """The positions that sort a tensor; equal elements keep their order."""
    without_nan(to, op)
    found, dim = to.value(op.args[0]), argument(op, "dim", -1)
    assert isinstance(dim, int)
    if not rank(op.args[0]):
        return to.scope.int64(0)
    axis = dim % rank(op.args[0])
    if found.dtype is D.BOOL:
        found = to.scope.cast(found, D.INT64)
    sizes = shape_of(to, op.args[0])
    count = to.scope.emit("Gather", sizes, to.scope.int64([axis]), shape=[1])
    values, places = (
        new_value("", ir.TensorType(dtype_in(found)), None),
        new_value("", ir.TensorType(D.INT64), None),
    )
    largest = int(bool(argument(op, "descending", False)))
    to.scope.node("TopK", [found, count], [values, places],
                  {"axis": axis, "largest": largest, "sorted": 1})  # fmt: skip
    return places


def unique(to: Lowering, op: Op) -> None:
    """The sorted distinct elements, and what was asked for beside them."""
    found = to.value(op.args[0])
    flat = to.scope.emit("Reshape", found, to.scope.int64([-1]))
    kinds = [dtype_in(found), D.INT64, D.INT64, D.INT64]
    outputs = [new_value("", ir.TensorType(kind), ir.Shape([None])) for kind in kinds]
    to.scope.node("Unique", [flat], outputs, {"sorted": 1})
    inverse = to.scope.emit("Reshape", outputs[2], shape_of(to, op.args[0]))
    for value, given in zip(op.results, (outputs[0], inverse, outputs[3]), strict=False):
        to.bind(value, given)


def index_add(to: Lowering, op: Op) -> ir.Value:
    """Slices added at indices."""
    dim, scope, dtype = dimension(to, op), to.scope, dtype_of_result(to, op)
    source = scope.cast(to.value(argument(op, "source")), dtype)
    alpha = argument(op, "alpha", 1)
    if alpha != 1:
        source = scope.emit("Mul", source, scalar_of(to, alpha, dtype))
    index = scope.cast(to.value(argument(op, "index")), D.INT64)
    after = [1] * (rank(op.args[0]) - dim - 1)
    column = scope.emit("Reshape", index, scope.int64([-1, *after]))
    places = scope.emit("Expand", column, scope.emit("Shape", source))
    return scope.emit("ScatterElements", to.value(op.args[0]), places, source,
                      axis=dim, reduction="add")  # fmt: skip


def split_up(to: Lowering, op: Op) -> None:
    """`split` and `unbind`: as a list, if the number of parts is not known."""
    result = op.results[0]
    if _has_known_parts(op):
        _cut(to, op)
        return
    if not isinstance(present(result.type), ListType):
        call(to, op)
        return
    dim, found, scope = dimension(to, op), to.value(op.args[0]), to.scope
    if op.name == "aten::unbind.int" and to.is_stacked(result.type):
        to.bind(result, _rows_along(to, found, dim, rank(op.args[0])))
        return
    kind = ir.SequenceType(ir.TensorType(dtype_in(found)))
    sizes = shape_of(to, op.args[0])
    count = scope.scalar("Gather", sizes, scope.int64(dim))
    is_empty = scope.scalar("Equal", count, scope.int64(0))
    is_split, is_chunk = op.name == "aten::split.Tensor", op.name == "aten::chunk"
    parts_of = argument(op, "chunks") if is_chunk else 1
    if not isinstance(parts_of, int):
        to.refuse(f"{op.name} needs a constant number of parts")
    assert isinstance(parts_of, int)
    to.inner()
    if is_split or is_chunk:  # one part without elements, or as many as asked for
        part = to.scope.emit("SequenceConstruct", *[found] * parts_of, kind=kind)
    else:
        part = to.scope.emit("SequenceEmpty", kind=kind, dtype=int(dtype_in(found)))
    empty = to.graph("empty", [part])
    to.inner()
    length = [number(to, argument(op, "split_size"), "int")] if is_split else []
    if is_chunk:  # the quotient, rounded up
        more = to.scope.scalar("Add", count, to.scope.int64(parts_of - 1))
        length = [to.scope.scalar("Div", more, to.scope.int64(parts_of))]
    attributes: dict[str, Any] = {"axis": dim} if length else {"axis": dim, "keepdims": 0}
    parts = to.scope.emit("SplitToSequence", found, *length, kind=kind, **attributes)
    other = to.graph("parts", [parts])
    made = new_value("", kind, None)
    scope.node("If", [is_empty], [made], {"then_branch": empty, "else_branch": other})
    to.bind(result, made)


def _rows_along(to: Lowering, found: ir.Value, dim: int, count: int) -> ir.Value:
    """A tensor whose first dimension was `dim`."""
    order = [dim, *(k for k in range(count) if k != dim)]
    return to.scope.emit("Transpose", found, perm=order) if dim else own_copy(to, found)


def _has_known_parts(op: Op) -> bool:
    """Whether a `split` gives a known number of tensors, each of a known length."""
    if op.name == "aten::unbind.int" or not isinstance(argument(op, "dim", 0), int):
        return False
    kinds = [present(value.type) for value in op.results]
    dim = argument(op, "dim", 0)
    return all(
        isinstance(kind, TensorType) and isinstance(kind.shape[dim], int)  # type: ignore[index]
        for kind in kinds
    )


def _cut(to: Lowering, op: Op) -> None:
    """`split` into parts of known lengths: one node, and no sequence."""
    dim, dtype = dimension(to, op), dtype_in(to.value(op.args[0]))
    lengths = [tensor_type(value).shape[dim] for value in op.results]
    parts = [new_value("", ir.TensorType(dtype), None) for _ in lengths]
    inputs = [to.value(op.args[0]), to.scope.int64([int(n) for n in lengths])]  # type: ignore[arg-type]
    to.scope.node("Split", inputs, parts, {"axis": dim})
    for value, part in zip(op.results, parts, strict=True):
        to.bind(value, part)


def joined(to: Lowering, op: Op) -> Any:
    """`cat` and `stack`, of tensors or of a list."""
    tensors, dim = op.args[0], argument(op, "dim", 0)
    is_stack = op.name == "aten::stack"
    result = op.results[0].type
    assert isinstance(result, TensorType)
    assert isinstance(dim, int)
    dtype = dtype_of_result(to, op)
    axis = dim % len(result.shape)
    if isinstance(tensors, Value) and to.is_stacked(tensors.type):
        whole = stacked_along if is_stack else joined_along
        return to.scope.cast(whole(to, tensors, axis), dtype)
    if isinstance(tensors, Value):
        found = to.scope.emit("ConcatFromSequence", to.value(tensors),
                              axis=axis, new_axis=int(is_stack))  # fmt: skip
        return raises(found, "RuntimeError", "expected a non-empty list of tensors that fit")
    assert isinstance(tensors, tuple)
    parts = []
    for one in tensors:
        if len(tensor_type(one).shape) != len(result.shape) - is_stack:
            continue  # torch leaves out empty vectors
        part = to.scope.cast(to.value(one), dtype)
        if is_stack:
            part = to.scope.emit("Unsqueeze", part, to.scope.int64([axis]))
        parts.append(part)
    return to.scope.emit("Concat", *parts, axis=axis)


def differences(to: Lowering, op: Op) -> ir.Value:
    """`diff`: each element less the one before, `n` times."""
    scope, dtype, axis = to.scope, dtype_of_result(to, op), dimension(to, op)
    times, found = argument(op, "n", 1), to.value(op.args[0])
    if "dim" not in arguments_of(op):
        axis = rank(op.args[0]) - 1
    if dtype is D.BOOL or not isinstance(times, int):
        to.refuse(f"{op.name} of booleans, or with a data-dependent number of repeats")
    assert isinstance(times, int)
    ends = [to.value(argument(op, name)) if isinstance(argument(op, name), Value) else None
            for name in ("prepend", "append")]  # fmt: skip
    parts = [part for part in (ends[0], found, ends[1]) if part is not None]
    if len(parts) > 1:
        found = scope.emit("Concat", *parts, axis=axis)
    at, last = scope.int64([axis]), scope.int64([2**62])
    for _ in range(times):
        after = scope.emit("Slice", found, scope.int64([1]), last, at)
        before = scope.emit("Slice", found, scope.int64([0]), scope.int64([-1]), at)
        found = scope.emit("Sub", after, before)
    return found
