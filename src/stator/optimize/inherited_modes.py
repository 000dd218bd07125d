"""inherited_modes: a program as it runs where the caller records no gradients.

    stator::set_grad(False)                       stator::set_grad(False)
    ...                                     ->    ...
    stator::set_grad(True) {inherited=True}       stator::set_grad(False) {inherited=True}

A program for a file is captured once, with gradients. Where `with torch.no_grad():` ends, they are
on again only if the caller has them on.
"""

from __future__ import annotations

from dataclasses import replace

from stator.program.ir import Block, Op
from stator.program.program import Program


def turns_on_inherited(program: Program) -> bool:
    """Does a run without gradients differ?"""
    return any("inherited" in op.attributes and op.args[0] is True for op in program.ops())


def without_gradients(program: Program) -> Program:
    """`program`, for a caller who records none."""
    return program.with_blocks(_block)


def _block(block: Block) -> Block:
    return Block(block.inputs, [_op(op) for op in block.ops], block.outputs)


def _op(op: Op) -> Op:
    if "inherited" in op.attributes:
        return replace(op, args=(False,))
    return replace(op, blocks=tuple(map(_block, op.blocks))) if op.blocks else op
