"""What rules for ops of torch ask of their operands, and how they make tensors of them."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from stator.export.onnx.library import arguments_of, rank
from stator.export.onnx.lowering import Lowering
from stator.export.onnx.numbers import number
from stator.export.onnx.types import element_type
from stator.program.ir import Arg, Op, Value
from stator.program.sizes import is_static
from stator.program.types import TensorType
from stator.program.typing_rules import present


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


def scalar_of(to: Lowering, arg: Arg, dtype: ir.DataType) -> ir.Value:
    """A number or a tensor in this dtype."""
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
    return to.scope.emit("Expand", value, shape)


def shape_of(to: Lowering, arg: Arg) -> ir.Value:
    """The sizes of a tensor, as a tensor."""
    kind = tensor_type(arg)
    if is_static(kind.shape):
        return to.scope.int64([size for size in kind.shape if isinstance(size, int)])
    return to.scope.emit("Shape", to.value(arg), shape=[len(kind.shape)])


def dimension(to: Lowering, op: Op) -> int:
    """The dimension that an op works on, counted from the first."""
    dim = argument(op, "dim", 0)
    if not isinstance(dim, int):
        to.refuse(f"{op.name} needs a constant dimension")
    assert isinstance(dim, int)
    return dim % max(1, rank(op.args[0]))


def own_copy(to: Lowering, value: ir.Value) -> ir.Value:
    """`value` under another name."""
    return to.scope.emit("Identity", value, kind=value.type, shape=value.shape)


def sizes_of(to: Lowering, sizes: Sequence[Arg]) -> ir.Value:
    """Sizes as a tensor."""
    if all(isinstance(size, int) for size in sizes):
        return to.scope.int64([int(size) for size in sizes])  # type: ignore[arg-type]
    one = to.scope.int64([1])
    parts = [to.scope.emit("Reshape", number(to, size, "int"), one, shape=[1]) for size in sizes]
    return to.scope.emit("Concat", *parts, axis=0)
