"""in_place: a pointwise op writes its result over an argument that is not needed any more.

    %b = aten::relu(%a)    (the last use of %a)    ->   %b = aten::relu_(%a)

Only for runs that record no gradients: the backward pass may need what is overwritten. The
argument must be a new tensor of the same block, of the same type as the result, and share its
memory with nothing.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from stator.optimize.alias import Aliases, last_uses
from stator.program.ir import Block, Op, Value, values_in
from stator.program.opset.queries import is_stators
from stator.program.program import Program
from stator.program.registry import resolve
from stator.torch_private import ops


def in_place(program: Program) -> Program:
    """`program` with the ops that may do so working in place."""
    aliases = Aliases(program)
    return program.with_blocks(lambda block: _block(block, aliases))


def _block(block: Block, aliases: Aliases) -> Block:
    last = last_uses(block)
    made: set[Value] = set()
    ops = []
    for index, op in enumerate(block.ops):
        if _may_overwrite(op, index, last, made, aliases):
            op = replace(op, name=_twin(op.name))
        if not is_stators(op.name):
            made.update(op.results)
        ops.append(replace(op, blocks=tuple(_block(inner, aliases) for inner in op.blocks)))
    return Block(block.inputs, ops, block.outputs)


def _may_overwrite(
    op: Op, index: int, last: dict[Value, int], made: set[Value], aliases: Aliases
) -> bool:
    target = op.args[0] if op.args and len(op.results) == 1 else None
    if not isinstance(target, Value) or target not in made or last[target] != index:
        return False
    others = values_in(op.args[1:]) + values_in(op.attributes)
    return (
        target not in others
        and target.type == op.results[0].type
        and aliases.is_alone(target)
        and _has_twin(op.name)
    )


def _twin(name: str) -> str:
    base, dot, overload = name.partition(".")
    return f"{base}_{dot}{overload}"


def _has_twin(name: str) -> bool:
    """Is there an op of the same arguments that writes to the first?"""
    if not name.startswith("aten::"):
        return False
    found = resolve(name)
    if torch.Tag.pointwise not in found.tags or ops.schema(found).is_mutable:
        return False
    try:
        twin = resolve(_twin(name))
    except LookupError:
        return False
    mine, its = ops.schema(found).arguments, ops.schema(twin).arguments
    same = [a.name for a in mine] == [a.name for a in its]
    return same and bool(its and its[0].alias_info and its[0].alias_info.is_write)
