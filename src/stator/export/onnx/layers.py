"""Attention, normalization by groups, and rolls: right for tensors without elements too."""

from __future__ import annotations

import math

import onnx_ir as ir

from stator.export.onnx.library import call, rank
from stator.export.onnx.lowering import Lowering
from stator.export.onnx.numbers import number
from stator.export.onnx.operands import argument, dtype_of_result, scalar_of, shape_of, tensor_type
from stator.export.onnx.reductions import count_along, may_be_empty, reduced
from stator.export.onnx.scope import D, dtype_in
from stator.program.ir import Arg, Op, Value


def size_at(to: Lowering, arg: Arg, dim: int) -> ir.Value:
    """One size of a tensor, as a vector of one element."""
    start = dim % rank(arg)
    size = tensor_type(arg).shape[start]
    if isinstance(size, int):
        return to.scope.int64([size])
    return to.scope.emit("Shape", to.value(arg), shape=[1], start=start, end=start + 1)


def swapped(to: Lowering, value: ir.Value, count: int) -> ir.Value:
    """A tensor of `count` dimensions with the last two swapped."""
    order = [*range(count - 2), count - 1, count - 2]
    return to.scope.emit("Transpose", value, perm=order)


# ---- attention


def attention(to: Lowering, op: Op) -> ir.Value:
    """`scaled_dot_product_attention`; a row that may look at nothing is 0."""
    key, value = op.args[1:3]
    if argument(op, "dropout_p", 0.0) != 0.0:
        to.refuse(f"{op.name} draws random numbers for its dropout", "call `.eval()` first")
    keys, values = (_for_each_head(to, op, one) for one in (key, value))
    scores = to.scope.emit("MatMul", _scaled(to, op), swapped(to, keys, rank(key)))
    bias = _bias(to, op)
    if bias is None:
        weights = to.scope.emit("Softmax", scores, axis=-1)
        return to.scope.emit("MatMul", weights, values)
    if not isinstance(argument(op, "attn_mask"), Value):  # each row looks at the first key at least
        return to.scope.emit("MatMul", _weights(to, scores, bias), values)
    is_blind = _blind_rows(to, op, bias)
    zero = to.scope.constant(0, dtype_in(bias))
    bias = to.scope.emit("Where", is_blind, zero, bias)
    sees = to.scope.cast(to.scope.emit("Not", is_blind), dtype_in(bias))
    weights = to.scope.emit("Mul", _weights(to, scores, bias), sees)
    return to.scope.emit("MatMul", weights, values)


def _weights(to: Lowering, scores: ir.Value, bias: ir.Value) -> ir.Value:
    masked = to.scope.emit("Add", scores, bias)
    return to.scope.emit("Softmax", masked, axis=-1)


def _blind_rows(to: Lowering, op: Op, bias: ir.Value) -> ir.Value:
    """Where a row of the mask hides all keys; what several layers share is computed once."""
    mask = argument(op, "attn_mask")
    axes = [-1] if rank(mask) else []
    greatest = reduced(to, "ReduceMax", bias, axes, keep=True)
    return to.scope.emit("Equal", greatest, to.scope.constant(-math.inf, dtype_in(bias)))


def _scaled(to: Lowering, op: Op) -> ir.Value:
    query, scale = op.args[0], argument(op, "scale")
    found, dtype = to.value(query), dtype_of_result(to, op)
    size = tensor_type(query).shape[-1]
    if scale is not None:
        factor = scalar_of(to, scale, dtype)
    elif isinstance(size, int) and size:
        factor = to.scope.constant(1 / math.sqrt(size), dtype)
    else:
        root = to.scope.emit("Sqrt", to.scope.cast(size_at(to, query, -1), dtype))
        factor = to.scope.emit("Div", to.scope.constant([1], dtype), root)
    return to.scope.emit("Mul", found, factor)


def _for_each_head(to: Lowering, op: Op, arg: Arg) -> ir.Value:
    """Keys or values, of which several heads of queries share each, once for each."""
    found = to.value(arg)
    if not argument(op, "enable_gqa", False):
        return found
    heads = [tensor_type(one).shape[-3] for one in (op.args[0], arg)]
    if not all(isinstance(count, int) and count for count in heads):
        to.refuse(f"{op.name} needs constant numbers of heads")
    times, count = int(heads[0]) // int(heads[1]), rank(arg)  # type: ignore[arg-type]
    if times == 1:
        return found
    wide = to.scope.emit("Unsqueeze", found, to.scope.int64([count - 2]))
    before = [1] * (count - 2)
    wide = to.scope.emit("Expand", wide, to.scope.int64([*before, times, 1, 1]))
    sizes = [size_at(to, arg, dim) for dim in range(count)]
    sizes[-3] = to.scope.int64([int(heads[0])])  # type: ignore[arg-type]
    shape = to.scope.emit("Concat", *sizes, axis=0)
    return to.scope.emit("Reshape", wide, shape, allowzero=1)


def _bias(to: Lowering, op: Op) -> ir.Value | None:
    """What is added to the scores: minus infinity for keys that a row may not look at."""
    mask, dtype = argument(op, "attn_mask"), dtype_in(to.value(op.args[0]))
    if isinstance(mask, Value) and tensor_type(mask).dtype != "bool":
        return to.scope.cast(to.value(mask), dtype)
    if isinstance(mask, Value):
        visible = to.value(mask)
    elif argument(op, "is_causal", False):
        sizes = [size_at(to, op.args[0], -2), size_at(to, op.args[1], -2)]
        shape = to.scope.emit("Concat", *sizes, axis=0)
        ones = to.scope.filled(shape, 1, dtype)
        lower = to.scope.emit("Trilu", ones, upper=0)
        visible = to.scope.cast(lower, D.BOOL)
    else:
        return None
    zero, lowest = (to.scope.constant(number, dtype) for number in (0, -math.inf))
    return to.scope.emit("Where", visible, zero, lowest)


# ---- normalization and rolls


def group_norm(to: Lowering, op: Op) -> ir.Value:
    """`group_norm`."""
    scope, dtype, count = to.scope, dtype_of_result(to, op), rank(op.args[0])
    found, groups = to.value(op.args[0]), argument(op, "num_groups")
    assert isinstance(groups, int)
    whole = shape_of(to, op.args[0])
    rest = scope.emit("Slice", whole, scope.int64([1]), scope.int64([count]))
    elements = scope.emit("ReduceProd", rest, keepdims=1)
    of_one = scope.emit("Div", elements, scope.int64([groups]))
    shape = scope.emit("Concat", size_at(to, op.args[0], 0), scope.int64([groups]), of_one, axis=0)
    grouped = scope.emit("Reshape", found, shape, allowzero=1)
    distance = to.scope.emit("Sub", grouped, reduced(to, "ReduceMean", grouped, [2], keep=True))
    squares = to.scope.emit("Mul", distance, distance)
    epsilon = scope.constant(argument(op, "eps", 1e-5), dtype)
    spread = to.scope.emit("Add", reduced(to, "ReduceMean", squares, [2], keep=True), epsilon)
    result = to.scope.emit("Div", distance, to.scope.emit("Sqrt", spread))
    result = scope.emit("Reshape", result, whole, allowzero=1)
    for name, node in (("weight", "Mul"), ("bias", "Add")):
        arg = argument(op, name)
        if isinstance(arg, Value):
            column = scope.int64([-1, *[1] * (count - 2)])
            result = to.scope.emit(node, result, scope.emit("Reshape", to.value(arg), column))
    return result


def layer_norm(to: Lowering, op: Op) -> ir.Value | None:
    """`layer_norm`; of doubles it is written out, since `epsilon` of the node is a float32."""
    scope, dtype, shape = to.scope, dtype_of_result(to, op), argument(op, "normalized_shape")
    assert isinstance(shape, tuple)
    if dtype is not D.DOUBLE:
        call(to, op)
        return None
    found, axes = to.value(op.args[0]), [*range(-len(shape), 0)]
    distance = to.scope.emit("Sub", found, reduced(to, "ReduceMean", found, axes, keep=True))
    mean = reduced(to, "ReduceMean", to.scope.emit("Mul", distance, distance), axes, keep=True)
    spread = to.scope.emit("Add", mean, scope.constant(argument(op, "eps", 1e-5), dtype))
    result = to.scope.emit("Div", distance, to.scope.emit("Sqrt", spread))
    for name, node in (("weight", "Mul"), ("bias", "Add")):
        arg = argument(op, name)
        if isinstance(arg, Value):
            result = to.scope.emit(node, result, to.value(arg))
    return result


def rms_norm(to: Lowering, op: Op) -> ir.Value:
    """`rms_norm`: by the root of the mean of the squares, over the last dimensions."""
    scope, dtype, shape = to.scope, dtype_of_result(to, op), argument(op, "normalized_shape")
    assert isinstance(shape, tuple)
    wide = D.FLOAT if dtype in (D.FLOAT16, D.BFLOAT16) else dtype
    found, epsilon = scope.cast(to.value(op.args[0]), wide), argument(op, "eps")
    if epsilon is None:
        epsilon = {D.DOUBLE: 2.0**-52}.get(wide, 2.0**-23)
    axes = [*range(-len(shape), 0)]
    mean = reduced(to, "ReduceMean", to.scope.emit("Mul", found, found), axes, keep=True)
    spread = to.scope.emit("Add", mean, scope.constant(epsilon, wide))
    result = to.scope.emit("Div", found, to.scope.emit("Sqrt", spread))
    weight = argument(op, "weight")
    if isinstance(weight, Value):
        result = to.scope.emit("Mul", result, scope.cast(to.value(weight), wide))
    return scope.cast(result, dtype)


def roll(to: Lowering, op: Op) -> ir.Value:
    """`roll`: along some dimensions, or as if there were only one."""
    scope, found, dims = to.scope, to.value(op.args[0]), argument(op, "dims", ())
    shifts = argument(op, "shifts")
    shifts = shifts if isinstance(shifts, tuple) else (shifts,)
    if not rank(op.args[0]):
        return found
    if not dims:
        flat = scope.emit("Reshape", found, scope.int64([-1]))
        flat = _rolled(to, flat, shifts[0], 0)
        whole = shape_of(to, op.args[0])
        return scope.emit("Reshape", flat, whole, allowzero=1)
    for shift, dim in zip(shifts, dims if isinstance(dims, tuple) else (dims,), strict=True):
        assert isinstance(dim, int)
        found = _rolled(to, found, shift, dim % rank(op.args[0]))
    return found


def _rolled(to: Lowering, found: ir.Value, shift: Arg, dim: int) -> ir.Value:
    scope = to.scope
    size = scope.emit("Shape", found, start=dim, end=dim + 1)
    least = scope.emit("Max", size, scope.int64([1]))
    back = scope.emit("Neg", number(to, shift, "int"))
    start = scope.emit("Mod", back, least)
    axis = scope.int64([dim])
    parts = [scope.emit("Slice", found, one, other, axis)
             for one, other in ((start, size), (scope.int64([0]), start))]  # fmt: skip
    return scope.emit("Concat", *parts, axis=dim)


def resized(to: Lowering, op: Op) -> None:
    """Interpolation, as the library writes it; torch has none of an image without elements."""
    axes = [*range(2, rank(op.args[0]))]
    if may_be_empty(op.args[0], axes):
        some = to.scope.scalar("Greater", count_along(to, op.args[0], axes), to.scope.int64(0))
        to.check(some, "RuntimeError", "Input and output sizes should be greater than 0")
    call(to, op)


def product_and_sum(to: Lowering, op: Op) -> ir.Value:
    """`addmm`, `addmv` and `baddbmm`: beta * input + alpha * (one @ other)."""
    base, one, other = op.args[:3]
    dtype = dtype_of_result(to, op)
    alpha, beta = argument(op, "alpha", 1), argument(op, "beta", 1)
    result = to.scope.emit("MatMul", to.value(one), to.value(other))
    if alpha != 1:
        result = to.scope.emit("Mul", result, scalar_of(to, alpha, dtype))
    if isinstance(beta, int | float) and beta == 0:
        return result  # not even a NaN of the input counts
    start = to.value(base)
    if beta != 1:
        start = to.scope.emit("Mul", start, scalar_of(to, beta, dtype))
    return to.scope.emit("Add", result, start)
