"""fold: what is known before the program runs is put in its place.

    %a = stator::add(2, 3); f(%a)                 ->   f(5)
    %r = stator::if(True) {...} {...}             ->   the ops of the first block
    %r = stator::while(False, %x) {...}; f(%r)    ->   f(%x)
    a carried value that no iteration changes          ->   the value that the loop was given
    stator::demand(True, ...)                     ->   nothing

An op that would raise is left to raise when the program runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from stator.optimize.substitution import substituted_all, substituted_op
from stator.program.ir import Arg, Block, Op, Value, values_in
from stator.program.numbers import NUMBER_FUNCTIONS, fits
from stator.program.opset.queries import kind_of
from stator.program.opset.row import Kind
from stator.program.program import Program

Known = dict[Value, Arg]  # what represents a value from now on
LARGEST_POWER = 64  # 2 ** 10 ** 9 is a program's own affair


def fold(program: Program) -> Program:
    """`program` with what is constant worked out."""
    known: Known = {}
    return program.with_blocks(lambda block: _fold_block(block, known))


def _fold_block(block: Block, known: Known) -> Block:
    ops = [folded for op in block.ops for folded in _fold_op(op, known)]
    return Block(block.inputs, ops, substituted_all(block.outputs, known))


def _fold_op(op: Op, known: Known) -> list[Op]:
    """What `op` becomes: itself, nothing, or the ops of one of its blocks."""
    op = substituted_op(op, known)
    return FOLDS.get(kind_of(op), _fold_nothing)(op, known)


def _fold_nothing(op: Op, known: Known) -> list[Op]:
    if not op.blocks:
        return [op]
    return [replace(op, blocks=tuple(_fold_block(block, known) for block in op.blocks))]


def _fold_number(op: Op, known: Known) -> list[Op]:
    if op.name == "stator::select":
        return _fold_select(op, known)
    if values_in(op.args) or op.attributes or _too_large(op):
        return [op]
    try:
        result = NUMBER_FUNCTIONS[op.name](*op.args)
    except (ArithmeticError, TypeError, ValueError):
        return [op]
    if isinstance(result, int) and not fits(result):
        return [op]
    known[op.results[0]] = result
    return []


def _too_large(op: Op) -> bool:
    return op.name == "stator::pow" and any(
        not isinstance(arg, bool | int | float) or abs(arg) > LARGEST_POWER for arg in op.args
    )


def _fold_select(op: Op, known: Known) -> list[Op]:
    index, items = op.args
    if not isinstance(index, int) or not isinstance(items, tuple) or not 0 <= index < len(items):
        return [op]
    known[op.results[0]] = items[index]
    return []


def _fold_if(op: Op, known: Known) -> list[Op]:
    condition = op.args[0]
    if isinstance(condition, bool):
        block = _fold_block(op.blocks[0] if condition else op.blocks[1], known)
        known.update(zip(op.results, block.outputs, strict=True))
        return block.ops
    (folded,) = _fold_nothing(op, known)
    then, orelse = folded.blocks
    for result, left, right in zip(op.results, then.outputs, orelse.outputs, strict=True):
        if not values_in((left, right)) and repr(left) == repr(right):  # 0.0 and -0.0 differ
            known[result] = left
    return [folded]


def _fold_while(op: Op, known: Known) -> list[Op]:
    condition, *given = op.args
    (body,) = op.blocks
    if condition is False:
        known.update(zip(op.results, given, strict=True))
        return []
    for result, taken, start, yielded in zip(
        op.results, body.inputs, given, body.outputs[1:], strict=True
    ):
        if yielded is taken:
            known.update({result: start, taken: start})
    return _fold_nothing(op, known)


def _fold_check(op: Op, _: Known) -> list[Op]:
    return [] if op.args[0] is True else [op]


FOLDS: dict[Kind, Callable[[Op, Known], list[Op]]] = {
    "number": _fold_number,
    "branch": _fold_if,
    "loop": _fold_while,
    "check": _fold_check,
}
