"""Ops of torch that its function library lacks, or writes in a way that is not always right."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import onnx_ir as ir

from stator.export.onnx.activations import copy_of_sign, gelu, hypotenuse, log_sigmoid, silu
from stator.export.onnx.bags import embedding_bag
from stator.export.onnx.cells import gru_cell, lstm_cell, rnn_cell
from stator.export.onnx.cumulative import extreme_so_far, product_so_far
from stator.export.onnx.divisions import compared, divide, divided, powered
from stator.export.onnx.indexing import (
    argsort,
    differences,
    index_add,
    indexed,
    indexed_by_tensors,
    joined,
    picked,
    scatter_reduced,
    select_scatter,
    slice_scatter,
    split_up,
    unique,
)
from stator.export.onnx.layers import (
    attention,
    group_norm,
    layer_norm,
    product_and_sum,
    resized,
    rms_norm,
    roll,
)
from stator.export.onnx.library import bind_one, call, rank
from stator.export.onnx.list_operands import raises
from stator.export.onnx.lowering import Lowering
from stator.export.onnx.normalization import batch_norm, trained_batch_norm
from stator.export.onnx.numbers import kind_of_number, number
from stator.export.onnx.operands import (
    argument,
    dimension,
    dtype_of_result,
    own_copy,
    scalar_of,
    shape_of,
    sizes_of,
    spread,
)
from stator.export.onnx.pools import pooled, windowed
from stator.export.onnx.recurrent import recurrent
from stator.export.onnx.reductions import (
    FLOATS,
    any_or_all,
    cosine_similarity,
    cumulated,
    distances,
    extreme,
    extreme_along,
    log_of_sum,
    ordered,
    place_of_extreme,
    summed,
    variance,
    variance_and_mean,
)
from stator.export.onnx.scope import D
from stator.export.onnx.searches import (
    in_buckets,
    kth_value,
    masked_select,
    median,
    one_hot,
    searched,
    sort_stable,
)
from stator.program.ir import Op
from stator.program.sizes import is_static
from stator.program.types import TensorType

Rule = Callable[[Lowering, Op], Any]


def same(to: Lowering, op: Op) -> ir.Value:
    """The tensor itself: without memory, a copy and a view are the same."""
    return to.value(op.args[0])


def converted(to: Lowering, op: Op) -> ir.Value:
    """`to(...)`, `type_as` and the like: the declared result says which dtype."""
    return to.scope.cast(to.value(op.args[0]), dtype_of_result(to, op))


def item(to: Lowering, op: Op) -> ir.Value:
    """The only element of a tensor, as a number."""
    found, dtype = to.value(op.args[0]), dtype_of_result(to, op)
    if rank(op.args[0]):
        found = to.scope.scalar("Reshape", found, to.scope.int64([]))
        raises(found, "RuntimeError", "a tensor with several elements cannot be a number")
    return to.scope.cast(found, dtype)


def size(to: Lowering, op: Op) -> ir.Value:
    """One size of a tensor."""
    dim = argument(op, "dim")
    if not isinstance(dim, int):
        to.refuse(f"{op.name} needs a constant dimension")
    assert isinstance(dim, int)
    to.small.add(op.results[0])
    start = dim % rank(op.args[0])
    found = to.scope.emit("Shape", to.value(op.args[0]), shape=[1], start=start, end=start + 1)
    return to.scope.scalar("Squeeze", found, to.scope.int64([0]))


def element_count(to: Lowering, op: Op) -> ir.Value:
    """`numel()`."""
    to.small.add(op.results[0])
    return to.scope.scalar("Size", to.value(op.args[0]))


def copied(to: Lowering, op: Op) -> ir.Value:
    """`copy(self, src)`: of the shape and dtype of `self`."""
    return spread(to, op, to.value(op.args[1], op.results[0].type), op.args[1])


def filled(to: Lowering, op: Op) -> ir.Value:
    """`fill` and `zero`."""
    if op.name == "aten::zero":
        return spread(to, op, to.scope.constant(0, dtype_of_result(to, op)), None)
    value = argument(op, "value")
    return spread(to, op, scalar_of(to, value, dtype_of_result(to, op)), value)


def dropout(to: Lowering, op: Op) -> ir.Value:
    """Nothing, unless it is on."""
    rate, is_on = op.args[1:3]
    if is_on is False or rate == 0:
        return to.value(op.args[0])
    return to.refuse(f"{op.name} draws random numbers in training mode", "call `.eval()` first")


def scalar_tensor(to: Lowering, op: Op) -> ir.Value:
    """A number as a tensor."""
    return own_copy(to, scalar_of(to, op.args[0], dtype_of_result(to, op)))


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
        return to.scope.filled(shape, value, dtype)

    return lower


def reshaped(to: Lowering, op: Op) -> ir.Value:
    """`view`, `reshape` and `unflatten`: by the sizes that the program declares, where it knows."""
    result = op.results[0].type
    assert isinstance(result, TensorType)
    found = to.value(op.args[0])
    if is_static(result.shape):
        shape = to.scope.int64([size for size in result.shape if isinstance(size, int)])
    elif op.name.startswith("aten::unflatten"):
        dim = dimension(to, op)
        parts = argument(op, "sizes")
        assert isinstance(parts, tuple)
        whole = to.scope.emit("Shape", found)
        ends = [
            to.scope.emit("Slice", whole, to.scope.int64([start]), to.scope.int64([stop]))
            for start, stop in ((0, dim), (dim + 1, 2**31))
        ]
        shape = to.scope.emit("Concat", ends[0], sizes_of(to, parts), ends[1], axis=0)
    else:
        sizes = argument(op, "size", argument(op, "shape"))
        assert isinstance(sizes, tuple)
        shape = sizes_of(to, sizes)
    return to.scope.emit("Reshape", found, shape, allowzero=_zero(op))


def _zero(op: Op) -> int:
    """With -1 among the sizes, ONNX takes 0 as the size that was."""
    sizes = argument(op, "size", argument(op, "shape"))
    result = op.results[0].type
    assert isinstance(result, TensorType)
    return int(is_static(result.shape) or not (isinstance(sizes, tuple) and -1 in sizes))


def adaptive_pool(to: Lowering, op: Op) -> ir.Value:
    """`adaptive_avg_pool` to one element: a mean."""
    sizes = argument(op, "output_size")
    sizes = sizes if isinstance(sizes, tuple) else (sizes,)
    count = int(op.name.removesuffix("d")[-1])
    if any(size != 1 for size in sizes):
        to.refuse(f"{op.name} to sizes other than 1 has no counterpart in ONNX")
    axes = to.scope.int64([*range(-count, 0)])
    found = to.value(op.args[0])
    return to.scope.emit("ReduceMean", found, axes, keepdims=1)


def clamped(to: Lowering, op: Op) -> ir.Value:
    """Between bounds, of which one may be missing."""
    dtype = dtype_of_result(to, op)
    found = to.scope.cast(to.value(op.args[0]), dtype)
    for name, node in (("min", "Max"), ("max", "Min")):
        bound = argument(op, name)
        if bound is not None:
            found = to.scope.emit(node, found, scalar_of(to, bound, dtype))
    return found


def subtracted_from(to: Lowering, op: Op) -> ir.Value:
    """`rsub`: the second operand less the first, which is multiplied by `alpha` before."""
    dtype = dtype_of_result(to, op)
    found = to.scope.cast(to.value(op.args[0]), dtype)
    alpha = argument(op, "alpha", 1)
    if alpha != 1:
        found = to.scope.emit("Mul", found, scalar_of(to, alpha, dtype))
    return to.scope.emit("Sub", scalar_of(to, argument(op, "other"), dtype), found)


def sign(to: Lowering, op: Op) -> ir.Value:
    """The sign; of NaN, 0."""
    dtype = dtype_of_result(to, op)
    found = to.value(op.args[0])
    if dtype is D.BOOL:
        return found
    result = to.scope.emit("Sign", found)
    if dtype not in FLOATS:
        return result
    is_nan = to.scope.emit("IsNaN", found)
    return to.scope.emit("Where", is_nan, to.scope.constant(0, dtype), result)


def is_nan(to: Lowering, op: Op) -> ir.Value:
    """Where a tensor of floats is NaN."""
    found = to.value(op.args[0])
    if found.dtype not in FLOATS:
        found = to.scope.cast(found, D.FLOAT)
    return to.scope.emit("IsNaN", found)


def squeezed(to: Lowering, op: Op) -> ir.Value:
    """`squeeze(dim)`: nothing, if the size is not 1."""
    result = op.results[0].type
    assert isinstance(result, TensorType)
    found = to.value(op.args[0])
    if len(result.shape) == rank(op.args[0]):
        return found
    axis = to.scope.int64([dimension(to, op)])
    return to.scope.emit("Squeeze", found, axis)


def logarithm(base: int) -> Rule:
    """The logarithm to another base; in doubles, no digit is lost."""

    def lower(to: Lowering, op: Op) -> ir.Value:
        dtype = dtype_of_result(to, op)
        found = to.scope.emit("Log", to.scope.cast(to.value(op.args[0]), dtype))
        return to.scope.emit("Div", found, to.scope.constant(math.log(base), dtype))

    return lower


def counted(to: Lowering, op: Op) -> ir.Value | None:
    """`arange`: start + step * k; in doubles, as torch computes it for floats too."""
    dtype, scope = dtype_of_result(to, op), to.scope
    if dtype not in FLOATS:
        call(to, op)
        return None
    start, end, step = (
        scope.cast(number(to, arg, kind_of_number(arg)), D.DOUBLE)
        for name, default in (("start", 0), ("end", 0), ("step", 1))
        for arg in (argument(op, name, default),)
    )  # fmt: skip
    length = scope.scalar("Sub", end, start)
    steps = scope.scalar("Div", length, step)
    count = scope.cast(scope.scalar("Ceil", steps), D.INT64)
    places = scope.emit("Range", scope.int64(0), count, scope.int64(1))
    far = scope.emit("Mul", scope.cast(places, D.DOUBLE), step)
    return scope.cast(scope.emit("Add", far, start), dtype)


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "aten::log2": logarithm(2),
        "aten::log10": logarithm(10),
        **dict.fromkeys(
            ("aten::arange", "aten::arange.start", "aten::arange.start_step"), counted),
        **dict.fromkeys(
            ("aten::clone", "aten::detach", "aten::alias", "aten::contiguous", "aten::lift_fresh",
             "aten::resolve_conj", "aten::resolve_neg", "aten::lift_fresh_copy",
             "aten::detach_copy", "aten::alias_copy", "aten::positive"), same),
        **dict.fromkeys(
            ("aten::to.dtype", "aten::to.dtype_layout", "aten::to.device", "aten::to.other",
             "aten::_to_copy", "aten::type_as"), converted),
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
        **dict.fromkeys(("aten::max", "aten::min", "aten::amax", "aten::amin"), extreme),
        **dict.fromkeys(("aten::max.dim", "aten::min.dim"), extreme_along),
        **dict.fromkeys(("aten::argmax", "aten::argmin"), place_of_extreme),
        **dict.fromkeys(("aten::embedding", "aten::index_select", "aten::gather"), indexed),
        "aten::select.int": picked,
        **dict.fromkeys(("aten::sum", "aten::sum.dim_IntList", "aten::prod", "aten::prod.dim_int",
                         "aten::mean", "aten::mean.dim"), summed),
        "aten::cumsum": cumulated,
        **{f"aten::{name}{kind}": any_or_all for name in ("any", "all")
           for kind in ("", ".dim", ".dims")},
        "aten::logsumexp": log_of_sum,
        **{f"aten::{name}{kind}": rule for kind in ("", ".dim", ".correction")
           for name, rule in (("std", variance), ("var", variance),
                              ("std_mean", variance_and_mean), ("var_mean", variance_and_mean))},
        "aten::argsort": argsort,
        "aten::argsort.stable": argsort,
        "aten::_unique2": unique,
        "aten::index_add": index_add,
        "aten::index.Tensor": indexed_by_tensors,
        "aten::scatter_reduce.two": scatter_reduced,
        "aten::diff": differences,
        "aten::cdist": distances,
        "aten::cosine_similarity": cosine_similarity,
        "aten::sort.stable": sort_stable,
        "aten::median": median,
        **dict.fromkeys(("aten::kthvalue", "aten::median.dim"), kth_value),
        "aten::one_hot": one_hot,
        "aten::hypot": hypotenuse,
        **dict.fromkeys(("aten::copysign.Tensor", "aten::copysign.Scalar"), copy_of_sign),
        "aten::searchsorted.Tensor": searched,
        "aten::bucketize.Tensor": in_buckets,
        "aten::masked_select": masked_select,
        "aten::log_sigmoid": log_sigmoid,
        **dict.fromkeys(
            ("aten::pow.Tensor_Scalar", "aten::pow.Tensor_Tensor", "aten::pow.Scalar"), powered),
        **{f"aten::adaptive_avg_pool{count}d": adaptive_pool for count in (1, 2, 3)},
        **dict.fromkeys(("aten::clamp", "aten::clamp_min", "aten::clamp_max"), clamped),
        "aten::rsub.Scalar": subtracted_from,
        "aten::rsub.Tensor": subtracted_from,
        "aten::sign": sign,
        "aten::isnan": is_nan,
        **dict.fromkeys(("aten::sort", "aten::topk"), ordered),
        "aten::batch_norm": batch_norm,
        "aten::group_norm": group_norm,
        "aten::roll": roll,
        **{f"aten::upsample_{name}{kind}": resized for kind in ("", ".vec")
           for name in ("nearest1d", "nearest2d", "nearest3d", "bilinear2d", "bicubic2d",
                        "trilinear3d")},
        "aten::scaled_dot_product_attention": attention,
        **dict.fromkeys(("aten::addmm", "aten::addmv", "aten::baddbmm"), product_and_sum),
        "aten::squeeze.dim": squeezed,
        "aten::split.Tensor": split_up,
        "aten::split_with_sizes": split_up,
        "aten::unbind.int": split_up,
        "aten::chunk": split_up,
        "aten::cumprod": product_so_far,
        **dict.fromkeys(("aten::cummax", "aten::cummin"), extreme_so_far),
        **{f"aten::{kind}_pool{count}d{more}": pooled for count in (1, 2, 3)
           for kind, more in (("avg", ""), ("max", ""), ("max", "_with_indices"))},
        "aten::im2col": windowed,
        "aten::lstm_cell": lstm_cell,
        "aten::gru_cell": gru_cell,
        "aten::rnn_tanh_cell": rnn_cell("Tanh"),
        "aten::rnn_relu_cell": rnn_cell("Relu"),
        "aten::lstm.input": recurrent("LSTM"),
        "aten::gru.input": recurrent("GRU"),
        "aten::rnn_tanh.input": recurrent("RNN", "Tanh"),
        "aten::rnn_relu.input": recurrent("RNN", "Relu"),
        "aten::gelu": gelu,
        "aten::silu": silu,
        "aten::layer_norm": layer_norm,
        "aten::rms_norm": rms_norm,
        "aten::_native_batch_norm_legit_functional": trained_batch_norm,
        "aten::embedding_bag": embedding_bag,
        "aten::embedding_bag.padding_idx": embedding_bag,
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
