"""thread: a branch on a flag becomes a branch on the condition that the flag was chosen by.

    %f = stator::if(%c) {yield True} {yield False}
    %n = stator::not(%f)
    %r = stator::if(%n) {A} {B}                     ->   %r = stator::if(%c) {B} {A}

This is jump threading. It is what makes `if c: break` one branch: the flag of the `break` is
chosen by `c`, and the test of the loop is guarded by the flag. The new branch has the place of
the one that chose the flag, which `prune` removes if nothing else needs it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from stator.location import Location
from stator.program.ir import Arg, Block, Op, Value
from stator.program.program import Program


@dataclass(frozen=True)
class _Choice:
    """A flag is the truth of `condition`, or its negation; a branch at `place` has chosen it."""

    condition: Arg
    negated: bool
    place: Location | None

    def negation(self) -> _Choice:
        return replace(self, negated=not self.negated)


Choices = dict[Value, _Choice]


def thread(program: Program) -> Program:
    """`program`, whose branches on flags are on the conditions behind them."""
    choices: Choices = {}
    return program.with_blocks(lambda block: _thread_block(block, choices))


def _thread_block(block: Block, choices: Choices) -> Block:
    ops = [_thread_op(op, choices) for op in block.ops]
    return Block(block.inputs, ops, block.outputs)


def _thread_op(op: Op, choices: Choices) -> Op:
    known = choices.get(op.args[0]) if op.args and isinstance(op.args[0], Value) else None
    if op.name == "stator::not" and known is not None:
        choices[op.results[0]] = known.negation()
        return op
    if op.name == "stator::if":
        op = op if known is None else _on_condition(op, known)
        _learn_flags(op, choices)
    if not op.blocks:
        return op
    return replace(op, blocks=tuple(_thread_block(block, choices) for block in op.blocks))


def _on_condition(op: Op, choice: _Choice) -> Op:
    """The branch `op` on a flag as one on the condition behind the flag."""
    yes, no = op.blocks
    blocks = (no, yes) if choice.negated else (yes, no)
    return replace(op, args=(choice.condition, *op.args[1:]), blocks=blocks, place=choice.place)


def _learn_flags(op: Op, choices: Choices) -> None:
    then, orelse = op.blocks
    for result, yes, no in zip(op.results, then.outputs, orelse.outputs, strict=True):
        if isinstance(yes, bool) and isinstance(no, bool) and yes is not no:
            choices[result] = _Choice(op.args[0], negated=no, place=op.place)
