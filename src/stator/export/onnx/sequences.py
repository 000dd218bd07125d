"""Sequences of tensors as one tensor, and back."""

from __future__ import annotations

import onnx_ir as ir

from stator.export.onnx.scope import GraphScope, dtype_in
from stator.torch_private.onnx_library import new_value


def rows_of(scope: GraphScope, tensor: ir.Value) -> ir.Value:
    """The rows of a tensor, as a sequence; ONNX Runtime does not split one that has none."""
    dtype = dtype_in(tensor)
    kind = ir.SequenceType(ir.TensorType(dtype))
    is_empty = scope.scalar("Equal", count_of(scope, tensor), scope.int64(0))
    empty, items = GraphScope(scope), GraphScope(scope)
    nothing = empty.emit("SequenceEmpty", kind=kind, dtype=int(dtype))
    rows = items.emit("SplitToSequence", tensor, kind=kind, axis=0, keepdims=0)
    return _either(scope, is_empty, (empty, nothing), (items, rows))


def stack_of(scope: GraphScope, sequence: ir.Value, nothing: ir.Value) -> ir.Value:
    """The items of a sequence as one tensor with one more dimension; of an empty one, `nothing`."""
    count = scope.scalar("SequenceLength", sequence)
    is_empty = scope.scalar("Equal", count, scope.int64(0))
    empty, items = GraphScope(scope), GraphScope(scope)
    copy = empty.emit("Identity", nothing, kind=nothing.type, shape=nothing.shape)
    whole = items.emit("ConcatFromSequence", sequence, shape=nothing.shape, axis=0, new_axis=1)
    return _either(scope, is_empty, (empty, copy), (items, whole))


def count_of(scope: GraphScope, tensor: ir.Value) -> ir.Value:
    """How many rows a tensor has."""
    sizes = scope.emit("Shape", tensor, shape=[1], start=0, end=1)
    return scope.scalar("Squeeze", sizes, scope.int64([0]))


def _either(
    scope: GraphScope,
    condition: ir.Value,
    one: tuple[GraphScope, ir.Value],
    other: tuple[GraphScope, ir.Value],
) -> ir.Value:
    """What the side of an `If` gives."""
    sides = [
        ir.Graph((), [value], nodes=side.nodes, name=name)
        for name, (side, value) in zip(("empty", "items"), (one, other), strict=True)
    ]
    result = new_value("", one[1].type, one[1].shape)
    scope.node("If", [condition], [result], {"then_branch": sides[0], "else_branch": sides[1]})
    return result
