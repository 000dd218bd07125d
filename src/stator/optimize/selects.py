"""selects: a short branch that a tensor decides becomes a choice between two results.

    %c = aten::item(%t)                    %a = aten::mul(%x, 2)
    %y = stator::if(%c) {                  %b = aten::add(%x, 1)
      %a = aten::mul(%x, 2); yield %a  ->  %y = aten::where.self(%t, %a, %b)
    } else {
      %b = aten::add(%x, 1); yield %b
    }

Both sides are computed. So their ops must be pure and fail for no values, be few, and work on
little data; they become part of the straight-line code around them, which can be fused. The branch
that an `and` or `or` of two bools is becomes that op.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from stator.optimize.alias import Aliases
from stator.optimize.device_numbers import READS
from stator.optimize.prune import prune
from stator.optimize.region_rules import family_of
from stator.program.ir import Arg, Block, Op, Value, values_in
from stator.program.opset.queries import is_pure, kind_of, may_raise
from stator.program.program import Program
from stator.program.sizes import is_static
from stator.program.types import TensorType
from stator.program.typing_rules import is_bool
from stator.program.verifier import verify

MOST_OPS, MOST_ELEMENTS = 16, 16384
BOOL, AND, OR = "bool", "stator::and", "stator::or"


def selects(program: Program, is_kept: Callable[[Value], bool]) -> Program:
    """`program` with choices for its short branches; not for those that give what is kept."""
    walk = _Selecting(is_kept, Aliases(program).is_written)
    return verify(prune(program.with_blocks(walk.block)))


class _Selecting:
    """The walk over one program."""

    def __init__(
        self, is_kept: Callable[[Value], bool], is_written: Callable[[Value], bool]
    ) -> None:
        self._is_kept, self._is_written = is_kept, is_written
        self._sources: dict[Value, Value] = {}  # of a bool: the tensor that it was read of

    def block(self, block: Block) -> Block:
        """`block` with choices."""
        ops: list[Op] = []
        for old in block.ops:
            if old.name in READS:
                (tensor,) = values_in(old.args)
                self._sources[old.results[0]] = tensor
            op = replace(old, blocks=tuple(map(self.block, old.blocks)))
            ops += self._chosen(op) if self._is_short(op) else [op]
        return Block(block.inputs, ops, block.outputs)

    def _is_short(self, op: Op) -> bool:
        if kind_of(op) != "branch" or any(map(self._is_kept, op.results)):
            return False
        inside = [inner for block in op.blocks for inner in block.ops]
        launched = [inner for inner in inside if family_of(inner) != "cheap"]
        values = (v for inner in inside for v in (*_given(inner), *inner.results))
        tensors = [value for value in values if not is_bool(value)]
        if len(launched) > MOST_OPS or not all(map(_may_be_computed, inside)):
            return False
        if not all(map(_is_little, tensors)):
            return False
        if _logic(op):
            return True
        first, second = (block.outputs for block in op.blocks)
        return self._condition(op) is not None and all(map(_are_alike, first, second))

    def _condition(self, op: Op) -> Value | None:
        """The tensor that decides a branch, if one does, and is a bool without dimensions."""
        test = op.args[0]
        source = self._sources.get(test) if isinstance(test, Value) else None
        if source is None or not isinstance(source.type, TensorType):
            return None
        if self._is_written(source):  # the branch is decided by what was read
            return None
        return source if (source.type.dtype, source.type.shape) == (BOOL, ()) else None

    def _chosen(self, op: Op) -> Iterator[Op]:
        """The ops of both sides, and the choices between what they give."""
        for block in op.blocks:
            yield from block.ops
        if name := _logic(op):
            (then,), (orelse,) = (block.outputs for block in op.blocks)
            other = then if name == AND else orelse
            yield Op(name, (op.args[0], other), {}, op.results, (), op.place)
            return
        condition = self._condition(op)
        assert condition is not None
        first, second = (block.outputs for block in op.blocks)
        for one, other, result in zip(first, second, op.results, strict=True):
            yield Op("aten::where.self", (condition, one, other), {}, (result,), (), op.place)


def _given(op: Op) -> Iterator[Value]:
    yield from values_in(op.args)
    yield from values_in(op.attributes)


def _logic(op: Op) -> str:
    """The op of logic that a branch is; empty if it is none."""
    if len(op.results) != 1 or not is_bool(op.results[0]) or not is_bool(op.args[0]):
        return ""
    (then,), (orelse,) = (block.outputs for block in op.blocks)
    if orelse is False and is_bool(then):
        return AND
    return OR if then is True and is_bool(orelse) else ""


def _may_be_computed(op: Op) -> bool:
    """Whether it is invisible that `op` has run."""
    if op.name in READS:
        return is_bool(op.results[0])
    is_plain = kind_of(op) == "torch" and is_pure(op) and not may_raise(op)
    return is_plain and family_of(op) is not None


def _is_little(value: Value) -> bool:
    kind = value.type
    if not isinstance(kind, TensorType) or not is_static(kind.shape):
        return False
    return math.prod(kind.shape) <= MOST_ELEMENTS


def _are_alike(one: Arg, other: Arg) -> bool:
    """Whether two results are little tensors of one type, so that a choice between them is too."""
    if not isinstance(one, Value) or not isinstance(other, Value):
        return False
    return one.type == other.type and _is_little(one)
