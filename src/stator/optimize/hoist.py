"""hoist: what is the same in every iteration of a loop is computed once, before it.

    stator::while(%c, %x) {              %k = aten::linear(%y, %w)
        %k = aten::linear(%y, %w)   ->   stator::while(%c, %x) {
        %n = aten::add(%x, %k)               %n = aten::add(%x, %k)

A loop may have no iterations, so only ops move that fail for no values and no sizes, and for which
no target needs a check of its own. The program must have no in-place ops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from stator.program.ir import Arg, Block, Op, Value, used_by
from stator.program.opset.queries import is_pure, is_removable, kind_of
from stator.program.opset.torch_raising import argument
from stator.program.program import Program
from stator.program.registry import schema_of
from stator.program.types import TensorType

CHECKED = ("div", "remainder", "fmod", "floor", "pow", "max", "min")  # by a target, for some values
VIEWS = frozenset({"aten::t", "aten::transpose.int", "aten::permute", "aten::unsqueeze"})


def hoist(program: Program) -> Program:
    """`program`, whose loops compute only what changes."""
    return program.with_blocks(_hoisted)


def _hoisted(block: Block) -> Block:
    ops: list[Op] = []
    for op in block.ops:
        op = replace(op, blocks=tuple(map(_hoisted, op.blocks)))
        if kind_of(op) == "loop":
            before, op = _split(op)
            ops += before
        ops.append(op)
    return Block(block.inputs, ops, block.outputs)


def _split(loop: Op) -> tuple[list[Op], Op]:
    """The ops that can be before `loop`, and the loop without them."""
    (body,) = loop.blocks
    changing: set[Value] = set(body.inputs)
    before, inside = list[Op](), list[Op]()
    for op in body.ops:
        if _can_move(op) and not changing & set(used_by(op)):
            before.append(op)
        else:
            inside.append(op)
            changing.update(op.results)
    return before, replace(loop, blocks=(Block(body.inputs, inside, body.outputs),))


def _can_move(op: Op) -> bool:
    """Whether `op` does nothing but compute, and that in every run."""
    if op.blocks or kind_of(op) != "torch" or not is_pure(op):
        return False
    name = op.name.removeprefix("aten::").partition(".")[0]
    if name in FITS:
        return FITS[name](op)
    is_simple = op.name in VIEWS or "pointwise" in schema_of(op.name).tags
    return is_simple and not any(part in name for part in CHECKED) and is_removable(op)


def _shape(arg: Arg) -> Sequence[object] | None:
    kind = arg.type if isinstance(arg, Value) else None
    return kind.shape if isinstance(kind, TensorType) else None


def _fits_linear(op: Op) -> bool:
    """A layer for any number of rows: the number of features is a constant."""
    rows, weight = _shape(op.args[0]), _shape(op.args[1])
    if not rows or weight is None or len(weight) != 2:
        return False
    return isinstance(rows[-1], int) and rows[-1] == weight[1]


def _fits_product(op: Op) -> bool:
    """A product of matrices whose inner sizes are one constant."""
    one, other = _shape(op.args[0]), _shape(op.args[1])
    if one is None or other is None or len(one) != 2 or len(other) != 2:
        return False
    return isinstance(one[1], int) and one[1] == other[0]


def _fits_always(op: Op) -> bool:
    """Along a constant dimension, of a tensor of any size."""
    shape, dim = _shape(op.args[0]), argument(op, 1, "dim")
    return bool(shape) and isinstance(dim, int)


FITS: Mapping[str, Callable[[Op], bool]] = {
    "linear": _fits_linear,
    "mm": _fits_product,
    "matmul": _fits_product,
    "softmax": _fits_always,
    "log_softmax": _fits_always,
}
