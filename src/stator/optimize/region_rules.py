"""The rules of regions: which ops may be in one, and when one is worth compiling.

An op may be in a region if compiling it cannot be seen, up to the rounding of its results:

- it is an op of torch in one of the families below;
- it raises for no values, draws no random numbers, and writes nothing; nothing in the program
  writes to what it reads or gives, and nothing makes those part of autograd or takes them out;
- its tensors are dense, on one device, and its results are floating-point or bool: integer
  arithmetic wraps, and compilers do not promise to;
- of numbers that only a run knows it takes integers, as sizes and positions.

The families:

- fused: pointwise ops, reductions, normalizations, pooling. Compiling saves the memory traffic
  between them, and their dispatch.
- matrix: products and convolutions. A compiler calls the same kernels, so they gain nothing.
- cheap: views, size reads and arithmetic on integers. They cost nothing, so they are repeated
  outside the region if something outside needs them; the outputs of a region are new tensors.

The cost rule: a region is worth compiling if it has at least `LEAST_FUSED` fused ops, at least as
many of them as of matrix ops, and a tensor that may have `LEAST_ELEMENTS` elements. Below that the
call of compiled code costs as much as it saves.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Literal

from stator.optimize.alias import Aliases
from stator.program.ir import Block, Op, Value, operands_of, values_in
from stator.program.opset.in_files import stem_of
from stator.program.opset.queries import kind_of, may_raise, row_of, written_by
from stator.program.program import Program
from stator.program.registry import argument_names, schema_of
from stator.program.sizes import is_static
from stator.program.types import NumberType, TensorType

Family = Literal["fused", "matrix", "cheap"]

LEAST_FUSED = 4
LEAST_ELEMENTS = 256
FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})
COMPUTED = FLOATS | {"bool"}
DENSE = COMPUTED | {"int8", "int16", "int32", "int64", "uint8"}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUSED = _words(
    "softmax log_softmax _softmax _log_softmax layer_norm native_layer_norm group_norm "
    "native_group_norm rms_norm batch_norm mean sum amax amin var std var_mean logsumexp gelu silu "
    "mish softplus elu leaky_relu relu6 hardtanh hardswish hardsigmoid square glu clone "
    "_to_copy where masked_fill cat stack max_pool2d avg_pool2d adaptive_avg_pool2d "
    "mse_loss l1_loss smooth_l1_loss cumsum tril triu full_like zeros_like "
    "ones_like"
)
MATRIX = _words(
    "mm bmm addmm baddbmm addbmm mv matmul linear conv1d conv2d conv3d convolution "
    "scaled_dot_product_attention gru_cell lstm_cell rnn_tanh_cell rnn_relu_cell"
)
VIEWS = _words(  # the views of torch are cheap anyway; these may copy instead
    "reshape flatten unflatten contiguous dropout expand_as view_as type_as chunk"
)
NOT_VIEWS = frozenset({"as_strided", "data", "view_as_real", "view_as_complex", "real", "imag"})
# composite ops that give new memory, though torch does not say so
FRESH = _words(
    "where true_divide max min clip std var var_mean std_mean isfinite l1_loss gru_cell lstm_cell "
    "rnn_tanh_cell rnn_relu_cell"
)
SIZES = frozenset({"sym_size", "size", "sym_numel", "numel"})
INTEGERS = frozenset(f"stator::{name}" for name in ("add", "sub", "mul", "neg", "min", "max"))
INTEGER_ARGUMENTS = frozenset({"int", "Optional[int]", "List[int]", "Optional[List[int]]"})

# some ops draw random numbers, or write, only in training: the argument that says so, when not
ONLY_IN_TRAINING: dict[str, tuple[str, object]] = {
    "dropout": ("train", False),
    "batch_norm": ("training", False),
    "scaled_dot_product_attention": ("dropout_p", 0.0),
}


@functools.cache
def _family(name: str) -> Family | None:
    """The family of an op of ATen, by its name."""
    stem, schema = stem_of(name), schema_of(name)
    if stem in VIEWS or stem in SIZES or (schema.is_view and stem not in NOT_VIEWS):
        return "cheap"
    if row_of(name).aliases and stem not in FRESH:
        return None
    if stem in MATRIX:
        return "matrix"
    return "fused" if stem in FUSED or schema.tags & {"pointwise", "reduction"} else None


def family_of(op: Op) -> Family | None:
    """The family of `op`; None if it is in none."""
    if op.name in INTEGERS:
        integers = (value.type == NumberType("int") for value in (*values_in(op.args), *op.results))
        return "cheap" if all(integers) else None
    if kind_of(op) != "torch" or not op.name.startswith("aten::") or op.name.endswith("_"):
        return None
    return _family(op.name)


def why_not(op: Op, is_touched: Callable[[Value], bool]) -> str:
    """Why `op` cannot be in a region; empty if it can. `is_touched`: written, or put into autograd.

    The text completes "it ...", for `explain`.
    """
    family = family_of(op)
    if op.name in INTEGERS and family is not None:
        return ""
    if kind_of(op) != "torch":
        return "is not an op of torch"
    row, is_settled = row_of(op.name), is_off(op)
    if row.random and not is_settled:
        return "draws random numbers"
    involved = (*operands_of(op), *op.results)
    if (row.mutates and not is_settled) or any(map(is_touched, involved)):
        return "has to do with a tensor that the program writes to"
    if may_raise(op) or row.conditions:
        return "may raise an error that depends on values"
    if family is None or not op.results:
        return "is not among the ops that are compiled"
    return _why_not_types(op, involved)


def _why_not_types(op: Op, involved: Sequence[Value]) -> str:
    tensors = [value.type for value in involved if isinstance(value.type, TensorType)]
    numbers = [value.type for value in involved if isinstance(value.type, NumberType)]
    if len(tensors) + len(numbers) < len(involved) or any(k.dtype not in DENSE for k in tensors):
        return "has a value that is neither a dense tensor nor a number"
    if any(kind != NumberType("int") for kind in numbers) or not _integers_are_sizes(op):
        return "takes a data-dependent number"
    results = [value.type for value in op.results if isinstance(value.type, TensorType)]
    if family_of(op) != "cheap" and any(kind.dtype not in COMPUTED for kind in results):
        return "computes integers"
    return "has tensors on several devices" if len({kind.device for kind in tensors}) > 1 else ""


def _integers_are_sizes(op: Op) -> bool:
    schema = schema_of(op.name)
    types = {one.name: one.type for one in schema.arguments}
    pairs = [*zip(types, op.args, strict=False), *op.attributes.items()]
    return all(
        types[name] in INTEGER_ARGUMENTS
        for name, arg in pairs
        for value in values_in(arg)
        if not isinstance(value.type, TensorType)
    )


def is_off(op: Op) -> bool:
    """Whether `op` is one that draws or writes only in training, and is called for evaluation."""
    name, value = ONLY_IN_TRAINING.get(stem_of(op.name), ("", None))
    if not name:
        return False
    place = argument_names(op.name).index(name)
    arg = op.args[place] if place < len(op.args) else op.attributes.get(name, value)
    return not isinstance(arg, Value) and arg == value


def touched(ops: Sequence[Op], aliases: Aliases) -> Callable[[Value], bool]:
    """Which values share memory with one that some op of the program changes in any way."""
    changed: list[Value] = []
    for op in ops:
        if is_off(op):
            continue
        written = written_by(op)
        changed += written
        if not written and row_of(op.name).mutates:
            changed += [*values_in(op.args), *op.results]
    return aliases.in_groups_of(changed)


class CompiledRules:
    """The rules of compiled code, for one program."""

    is_observing = True

    def __init__(self, program: Program, aliases: Aliases) -> None:
        self._is_touched = touched([*program.ops()], aliases)

    def reasons(self, block: Block) -> list[str]:
        """For each op of `block`: why it cannot be in a region."""
        return [why_not(op, self._is_touched) for op in block.ops]

    def is_cheap(self, op: Op) -> bool:
        """Whether `op` costs nothing."""
        return family_of(op) == "cheap"

    def is_worth(self, ops: Sequence[Op]) -> bool:
        """The cost rule."""
        families = [family_of(op) for op in ops]
        fused, matrix = families.count("fused"), families.count("matrix")
        largest = max((_elements(value) for op in ops for value in op.results), default=0)
        return fused >= max(LEAST_FUSED, matrix) and largest >= LEAST_ELEMENTS

    def is_last(self, _op: Op) -> bool:
        """A run ends at what is not in it."""
        return False

    def may_pass(self, _ops: Sequence[Op], _run: Sequence[Op]) -> bool:
        """Nothing in a run can be told from outside, so what is not in it may go before it."""
        return True


def _elements(value: Value) -> float:
    """How many elements a tensor may have."""
    kind = value.type
    if not isinstance(kind, TensorType):
        return 0
    return math.prod(kind.shape) if is_static(kind.shape) else math.inf
