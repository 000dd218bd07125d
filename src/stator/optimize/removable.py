"""removable(): may an op go when nobody uses its results? The rule that `prune` follows.

An op may go if leaving it out can be seen in no way: it writes nothing, draws no random number,
and cannot raise. It cannot raise if it is one of these:

- a number op that is defined for all numbers (`add`, not `truediv`; `mod` by a constant not 0);
- a list or text op that is defined for all lists;
- a read of a tensor's sizes; a view that exists for every size (`transpose`, not `view`), its
  dimensions being constants;
- a pointwise op of torch on tensors whose declared sizes broadcast, whatever the symbols stand for;
- a reduction, product, view or new tensor whose arguments are all static: the capture has run it.

Everything else stays, used or not: the error that eager code raises is raised here too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import zip_longest
from types import MappingProxyType

import torch

from stator.program.ir import Op, Value, values_in
from stator.program.registry import resolve
from stator.program.types import ListType, NumberType, TensorType, TextType

TOTAL_NUMBER_OPS = frozenset(
    f"stator::{name}"
    for name in (
        "add", "sub", "mul", "neg", "abs", "min", "max", "eq", "ne", "lt", "le", "gt", "ge",
        "and", "or", "not", "bool", "bitand", "bitor", "bitxor", "invert", "copysign",
    )
)  # fmt: skip
TOTAL_LIST_OPS = frozenset(
    f"stator::{name}"
    for name in (
        "join", "list_make", "list_length", "list_append", "list_insert", "list_extend",
        "list_repeat", "list_reverse",
    )
)  # fmt: skip
DIVISIONS = frozenset({"stator::truediv", "stator::floordiv", "stator::mod"})
ROUNDINGS = frozenset(
    f"stator::{name}" for name in ("int", "float", "round", "floor", "ceil", "trunc")
)
TOTAL_READS = frozenset(
    f"aten::{name}"
    for name in (
        "sym_size.int", "sym_size", "sym_stride.int", "sym_stride", "sym_numel",
        "sym_storage_offset", "size.int", "stride.int", "numel", "alias", "detach", "lift_fresh",
        "t", "transpose.int", "permute", "unsqueeze", "clone", "contiguous", "to.dtype",
        "_to_copy", "zeros_like", "ones_like", "empty_like", "full_like",
    )
)  # fmt: skip
SINGLE_READS = frozenset({"aten::item", "aten::is_nonzero", "aten::_local_scalar_dense"})
# Whole numbers divided by zero, and whole numbers to a negative power, raise on a CPU.
PARTIAL_POINTWISE = frozenset(
    f"aten::{name}"
    for name in ("floor_divide", "remainder", "fmod", "pow", "div", "divide", "true_divide",
                 "__rpow__", "float_power", "gcd", "lcm")
)  # fmt: skip
TOTAL_IF_STATIC = frozenset(
    f"aten::{name}"
    for name in (
        "linear", "matmul", "mm", "bmm", "addmm", "softmax", "log_softmax", "_softmax",
        "_log_softmax", "sum", "mean", "amax", "amin", "max", "min", "argmax", "argmin", "any",
        "all", "cumsum", "var", "std", "cat", "stack", "layer_norm", "native_layer_norm",
        "zeros", "ones", "full", "empty", "arange", "scalar_tensor", "eye", "tril", "triu",
        "new_zeros", "new_ones", "new_full", "new_empty", "scaled_dot_product_attention",
    )
)  # fmt: skip


def removable(op: Op) -> bool:
    """Whether `op` may go if its results are unused; its blocks are not looked at."""
    if op.name in TOTAL_NUMBER_OPS | TOTAL_LIST_OPS:
        return True
    for names, rule in RULES.items():
        if op.name in names:
            return rule(op)
    return not op.name.startswith("stator::") and _torch_op_removable(op)


def _division(op: Op) -> bool:
    divisor = op.args[1]
    return isinstance(divisor, bool | int | float) and divisor != 0


def _rounding(op: Op) -> bool:
    """A whole number can always be rounded; infinity cannot."""
    kind = op.args[0].type if isinstance(op.args[0], Value) else None
    return isinstance(kind, NumberType) and kind.kind in ("bool", "int") and len(op.args) == 1


def _format(op: Op) -> bool:
    return len(op.args) < 3 or not op.args[2]


def _single_read(op: Op) -> bool:
    """Reading the one item of a tensor that is known to have one."""
    kind = op.args[0].type if isinstance(op.args[0], Value) else None
    return isinstance(kind, TensorType) and all(size == 1 for size in kind.shape)


def _constant_numbers(op: Op) -> bool:
    """Whether a dimension or a size that the op is given is the one it was captured with."""
    return all(isinstance(value.type, TensorType) for value in _arguments(op))


RULES: Mapping[frozenset[str], Callable[[Op], bool]] = MappingProxyType(
    {
        DIVISIONS: _division,
        ROUNDINGS: _rounding,
        frozenset({"stator::format"}): _format,
        SINGLE_READS: _single_read,
        TOTAL_READS: _constant_numbers,
    }
)


def _torch_op_removable(op: Op) -> bool:
    found = resolve(op.name)
    if found._schema.is_mutable or torch.Tag.nondeterministic_seeded in found.tags:
        return False
    base = op.name.partition(".")[0]
    if torch.Tag.pointwise in found.tags and base not in PARTIAL_POINTWISE:
        return _broadcasts(op)
    return (base in TOTAL_IF_STATIC or bool(found.is_view)) and _static(op)


def _arguments(op: Op) -> Iterable[Value]:
    return values_in(op.args) + values_in(op.attributes)


def _static(op: Op) -> bool:
    """Whether all tensors have known sizes and all numbers are constants."""
    kinds = [value.type for value in _arguments(op)]
    return all(
        isinstance(kind, TensorType) and all(isinstance(size, int) for size in kind.shape)
        for kind in kinds
    )


def _broadcasts(op: Op) -> bool:
    """Whether the declared sizes fit each other whatever the symbols stand for."""
    kinds = [value.type for value in _arguments(op)]
    if any(isinstance(kind, ListType | TextType) for kind in kinds):
        return False
    shapes = [reversed(kind.shape) for kind in kinds if isinstance(kind, TensorType)]
    return all(len(set(sizes) - {1}) <= 1 for sizes in zip_longest(*shapes, fillvalue=1))
