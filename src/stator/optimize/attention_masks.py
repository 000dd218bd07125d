"""attention_masks: the mask of several attentions is made once.

    %a = attention(%q, %k, %v, %mask)         %zeros = aten::new_zeros(%q, [1, 1, 1, 128])
    %b = attention(%r, %l, %w, %mask)    ->   %hidden = aten::logical_not(%mask)
                                              %bias = aten::masked_fill(%zeros, %hidden, -inf)
                                              %a = attention(%q, %k, %v, %bias)
                                              %b = attention(%r, %l, %w, %bias)

Torch turns a mask of bools into numbers that it adds to the scores, once more in each attention. In
a decoder, that is a third of the kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from stator.optimize.alias import Aliases
from stator.optimize.regions import fresh_names
from stator.program.ir import Block, Op, Value
from stator.program.program import Program
from stator.program.sizes import is_static
from stator.program.types import TensorType
from stator.program.verifier import verify

ATTENTION = "aten::scaled_dot_product_attention"
QUERY, MASK = 0, 3  # of its arguments


def attention_masks(program: Program) -> Program:
    """`program`, in which masks of bools are biases."""
    if not any(op.name == ATTENTION for op in program.ops()):
        return program
    walk = _Masks(fresh_names(program), Aliases(program).is_written)
    return verify(program.with_blocks(walk.block))


@dataclass(frozen=True)
class _Masks:
    """The walk over one program."""

    names: Iterator[str]
    is_written: Callable[[Value], bool]

    def block(self, block: Block) -> Block:
        """`block` with one bias for each mask."""
        ops: list[Op] = []
        known: dict[tuple[Value, str], Value] = {}
        for old in block.ops:
            op = replace(old, blocks=tuple(map(self.block, old.blocks)))
            mask, query = _mask(op), op.args[QUERY] if op.args else None
            if mask is None or self.is_written(mask):
                ops.append(op)
                continue
            assert isinstance(query, Value)
            assert isinstance(query.type, TensorType)
            key = (mask, query.type.dtype)
            if key not in known:
                ops += _bias(op, mask, query, self.names)
                (known[key],) = ops[-1].results
            ops.append(replace(op, args=(*op.args[:MASK], known[key], *op.args[MASK + 1 :])))
        return Block(block.inputs, ops, block.outputs)


def _mask(op: Op) -> Value | None:
    """The mask of bools of an attention."""
    if op.name != ATTENTION or len(op.args) <= MASK:
        return None
    mask = op.args[MASK]
    kind = mask.type if isinstance(mask, Value) else None
    is_mask = isinstance(kind, TensorType) and kind.dtype == "bool" and is_static(kind.shape)
    return mask if is_mask and isinstance(mask, Value) else None


def _bias(op: Op, mask: Value, query: Value, names: Iterator[str]) -> Iterator[Op]:
    """The ops that make the bias for a mask."""
    assert isinstance(mask.type, TensorType)
    assert isinstance(query.type, TensorType)
    kind = TensorType(query.type.dtype, mask.type.shape, query.type.device)
    zeros, hidden, bias = (Value(next(names), one) for one in (kind, mask.type, kind))
    sizes = tuple(size for size in mask.type.shape if isinstance(size, int))
    yield Op("aten::new_zeros", (query, sizes), {"pin_memory": False}, (zeros,), (), op.place)
    yield Op("aten::logical_not", (mask,), {}, (hidden,), (), op.place)
    filled = (zeros, hidden, -math.inf)
    yield Op("aten::masked_fill.Scalar", filled, {}, (bias,), (), op.place)
