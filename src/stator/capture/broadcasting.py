"""Broadcasting: sizes that only a run knows may be 1, and meet others in one op.

    x: [s0], y: [s1]    x + y: [s2], where s0 == s1 or s0 == 1 or s1 == 1 is checked
    x: [s0], y: [4]     x + y: [4],  where s0 == 4 or s0 == 1 is checked

Torch itself would take two such sizes to be equal. Here the op is described on examples of the
broadcast shape instead, and recorded on the tensors that it is given. The size of the result is a
new one; which sizes it came of is remembered, so that the next op on the same sizes gives it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
import torch

from stator.capture.any_recorder import AnyRecorder
from stator.capture.sizes import Sizes
from stator.torch_private import ops
from stator.torch_private.ops import OpOverload
from stator.torch_private.symbols import evaluate
from stator.torch_private.trees import tree_leaves, tree_map_only
from stator.values.dims import expression_of

Size = int | torch.SymInt
Arguments = tuple[tuple[Any, ...], dict[str, Any]]
MATMULS = frozenset({"aten::matmul"})
BROADCASTING = frozenset({
    "aten::broadcast_tensors", "aten::where.self", "aten::masked_fill.Scalar",
    "aten::masked_fill.Tensor",
})  # fmt: skip  # and all that torch calls pointwise
INTO_FIRST = frozenset({"aten::copy_", "aten::masked_fill_.Scalar", "aten::masked_fill_.Tensor"})
EXPANDING = frozenset({"aten::expand", "aten::broadcast_to"})
AS_SECOND = frozenset({"aten::expand_as"})
ATTENTION = frozenset({"aten::scaled_dot_product_attention"})  # the mask broadcasts
ALONG = frozenset({"aten::take_along_dim"})  # all dimensions broadcast but one


def examples_for(recorder: AnyRecorder, op: OpOverload, name: str, given: Arguments) -> Arguments:
    """The arguments to describe `op` with: those given, or some of the shapes they broadcast to."""
    args, kwargs = given
    if not any(map(_has_open_size, tree_leaves(given))):
        return given
    if name in EXPANDING:
        return (_expanded(recorder, args[0], args[1]), *args[1:]), kwargs
    if name in AS_SECOND:
        return (_expanded(recorder, args[0], args[1].shape), *args[1:]), kwargs
    if name in MATMULS:
        return _batches(recorder, args), kwargs
    if name in ATTENTION:
        return _with_mask(recorder, given)
    if name in ALONG:
        return _aligned(recorder, args), kwargs
    if name in INTO_FIRST or (ops.schema(op).is_mutable and ops.is_pointwise(op)):
        return _fitted(recorder, given, tuple(args[0].shape), is_result=True)
    if name in BROADCASTING or ops.is_pointwise(op):
        tensors = [leaf for leaf in tree_leaves(given) if isinstance(leaf, torch.Tensor)]
        return _fitted(recorder, given, common_shape(recorder, [t.shape for t in tensors]))
    return given


def common_shape(recorder: AnyRecorder, shapes: Sequence[Sequence[Size]]) -> tuple[Size, ...]:
    """The shape that these broadcast to."""
    rank = max(map(len, shapes), default=0)
    columns = [[shape[-k] for shape in shapes if len(shape) >= k] for k in range(rank, 0, -1)]
    return tuple(_common_size(recorder, column) for column in columns)


def _common_size(recorder: AnyRecorder, column: Sequence[Size]) -> Size:
    """The size that those in one place broadcast to; checks are recorded."""
    sizes = _different(recorder.sizes, [size for size in column if not _is_one(size)])
    if len(sizes) < 2:
        return sizes[0] if sizes else 1
    known = [size for size in sizes if _is_not_one(recorder.sizes, size)]
    if known:  # the others are 1, or equal to it
        for size in sizes:
            if size is not known[0]:
                _check_into(recorder, size, known[0])
        return known[0]
    return _new_size(recorder, sizes)


def _new_size(recorder: AnyRecorder, sizes: Sequence[Size]) -> Size:
    """The size of the result where any of `sizes` may be 1."""
    env = recorder.sizes
    parts = frozenset[Any]().union(*(env.parts_of(expression_of(size)) for size in sizes))
    for size in sizes:  # one is the result of broadcasting with the others
        if env.parts_of(expression_of(size)) == parts:
            return size
    made = env.broadcast.get(parts)
    if made is not None and recorder.sees(made.node.expr):
        return made
    first, *others = sizes
    result: Size = first
    for other in others:
        one, two = expression_of(result), expression_of(other)
        recorder.demand(sympy.Or(sympy.Eq(one, two), sympy.Eq(one, 1), sympy.Eq(two, 1)))
        result = recorder.fresh_size()
        env.add_broadcast(result, env.parts_of(one) | env.parts_of(two))
    return result


def _check_into(recorder: AnyRecorder, size: Size, wanted: Size) -> None:
    """A size that must broadcast to `wanted`, which stays as it is."""
    env, one, two = recorder.sizes, expression_of(size), expression_of(wanted)
    fact = sympy.Or(sympy.Eq(one, two), sympy.Eq(one, 1))
    if two in env.parts_of(one) or one in env.parts_of(two):
        return
    if not env.is_known(fact):
        env.add_fact(fact)
        recorder.demand(fact)


def _fitted(
    recorder: AnyRecorder, given: Arguments, shape: tuple[Size, ...], *, is_result: bool = False
) -> Arguments:
    """`given`, with tensors of other sizes than `shape` replaced by examples that have them."""

    def fit(tensor: torch.Tensor) -> torch.Tensor:
        own = shape[len(shape) - tensor.dim() :] if tensor.dim() <= len(shape) else ()
        if len(own) != tensor.dim():
            return tensor
        if is_result:
            for size, wanted in zip(tensor.shape, own, strict=True):
                if _differ(recorder.sizes, size, wanted) and isinstance(size, torch.SymInt):
                    _check_into(recorder, size, wanted)
        return _example(recorder, tensor, own)

    fitted: Arguments = tree_map_only(torch.Tensor, fit, given)
    return fitted


def _example(recorder: AnyRecorder, tensor: torch.Tensor, shape: Sequence[Size]) -> torch.Tensor:
    """`tensor`, or one like it whose open sizes are those of `shape`."""
    own = tuple(tensor.shape)  # at each access, sizes that are open are new objects
    sizes = [
        wanted
        if (isinstance(size, torch.SymInt) or isinstance(wanted, torch.SymInt))
        and not _is_one(size)
        and _differ(recorder.sizes, size, wanted)
        else size
        for size, wanted in zip(own, shape, strict=True)
    ]
    if all(a is b for a, b in zip(sizes, own, strict=True)):
        return tensor
    made = tensor.new_empty(sizes)
    return made + tensor.sum().to(tensor.dtype) if tensor.requires_grad else made


def _expanded(recorder: AnyRecorder, tensor: torch.Tensor, shape: Sequence[Size]) -> torch.Tensor:
    """An example for `expand`: its open sizes are those asked for, or -1."""
    asked = tuple(shape)[len(shape) - tensor.dim() :]
    if len(asked) != tensor.dim():
        return tensor
    own = []
    for size, wanted in zip(tensor.shape, asked, strict=True):
        keeps = isinstance(wanted, int) and wanted == -1
        if keeps or not isinstance(size, torch.SymInt) or not _differ(recorder.sizes, size, wanted):
            own.append(size)
            continue
        _check_into(recorder, size, wanted)
        own.append(wanted)
    return _example(recorder, tensor, own)


def _batches(recorder: AnyRecorder, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The factors of `matmul`, with the batch sizes that they broadcast to."""
    one, two, *rest = args
    if one.dim() < 3 and two.dim() < 3:
        return args
    batch = common_shape(recorder, [one.shape[:-2], two.shape[:-2]])
    fitted = [
        _example(recorder, factor, (*batch[len(batch) - factor.dim() + 2 :], *factor.shape[-2:]))
        if factor.dim() > 2
        else factor
        for factor in (one, two)
    ]
    return (*fitted, *rest)


def _with_mask(recorder: AnyRecorder, given: Arguments) -> Arguments:
    """The arguments of an attention, with a mask of the sizes that it broadcasts to."""
    args, kwargs = given
    args = (*_same_batches(recorder, args[:3], bool(kwargs.get("enable_gqa"))), *args[3:])
    query, key = args[:2]
    wanted = (*query.shape[:-1], key.shape[-2])
    if len(args) > 3 and args[3] is not None:
        args = (*args[:3], _expanded(recorder, args[3], wanted), *args[4:])
    if kwargs.get("attn_mask") is not None:
        kwargs = {**kwargs, "attn_mask": _expanded(recorder, kwargs["attn_mask"], wanted)}
    return args, kwargs


def _same_batches(
    recorder: AnyRecorder, tensors: Sequence[torch.Tensor], repeats_heads: bool
) -> list[torch.Tensor]:
    """Query, key and value of an attention with the batch sizes that they broadcast to.

    Where the op repeats heads, an open number of them is as good as that of the query: whether they
    divide it is for the op to say in each run.
    """
    if len({one.dim() for one in tensors}) > 1:
        return list(tensors)
    last = -3 if repeats_heads else -2
    batch = common_shape(recorder, [one.shape[:last] for one in tensors])
    heads = tensors[0].shape[last:-2]
    return [_example(recorder, one, (*batch, *heads, *one.shape[-2:])) for one in tensors]


def _aligned(recorder: AnyRecorder, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """A tensor and the indices along one dimension, with the sizes that the others broadcast to."""
    if len(args) < 3 or args[2] is None or args[0].dim() != args[1].dim():
        return args
    tensor, indices, dim, *rest = args
    shape = list(tensor.shape)
    shape[dim] = indices.shape[dim]
    common = list(common_shape(recorder, [shape, indices.shape]))
    indices = _example(recorder, indices, common)
    common[dim] = tensor.shape[dim]
    return (_example(recorder, tensor, common), indices, dim, *rest)


def _different(env: Sizes, sizes: Sequence[Size]) -> list[Size]:
    """`sizes` without those that are known to equal another."""
    found: list[Size] = []
    for size in sizes:
        if not any(not _differ(env, size, other) for other in found):
            found.append(size)
    return found


def _differ(env: Sizes, one: Size, two: Size) -> bool:
    """May they be different?"""
    if isinstance(one, int) and isinstance(two, int):
        return one != two
    first, second = expression_of(one), expression_of(two)
    if first == second:
        return False
    same = sympy.Eq(env.replace(first), env.replace(second))
    return not (same == sympy.true or env.is_known(same) or evaluate(env, same) == sympy.true)


def _is_not_one(env: Sizes, size: Size) -> bool:
    if isinstance(size, int):
        return size != 1
    fact = sympy.Ne(env.replace(expression_of(size)), 1)
    return env.is_known(fact) or evaluate(env, fact) == sympy.true


def _is_one(size: Size) -> bool:
    return isinstance(size, int) and size == 1


def _has_open_size(leaf: object) -> bool:
    return isinstance(leaf, torch.Tensor) and any(isinstance(s, torch.SymInt) for s in leaf.shape)
