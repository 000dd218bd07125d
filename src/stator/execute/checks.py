"""split_checks(): what a program demands of the sizes of its inputs comes before the rest of it.

    %1 = aten::add(...); stator::demand(x.shape[0] == y.shape[0])  ->  the demand, then the add

A demand stays where it is if it needs a value that only the run has, or if the program may raise
an error of the user's before it: that error is the one to see.
"""

from __future__ import annotations

from stator.program.ir import Block, Op, Value, operands_of, values_in
from stator.program.opset.queries import kind_of, may_raise
from stator.program.opset.row import Kind
from stator.program.program import Program

STATED: frozenset[Kind] = frozenset({"raise", "check"})  # errors that the user's code writes out


def split_checks(program: Program) -> tuple[Block, Block]:
    """The demands that can be checked at once, with what they need; and the body without them."""
    body = program.body
    known = {*program.inputs, *(item.value for item in program.stored)}
    makers: dict[Value, Op] = {}
    demands: list[Op] = []
    for op in body.ops:
        if op.blocks or (kind_of(op) in STATED and may_raise(op)):
            break
        needs = operands_of(op)
        if not all(value in known or value in makers for value in needs):
            continue
        if op.name == "stator::demand":
            demands.append(op)
        elif op.name == "aten::sym_size.int" or kind_of(op) == "number":
            makers.update(dict.fromkeys(op.results, op))
    return _checks(demands, makers, body), _without(demands, body)


def _checks(demands: list[Op], makers: dict[Value, Op], body: Block) -> Block:
    """The demands and all that they need, in the order of the program."""
    wanted, open_ops = set(map(id, demands)), list(demands)
    while open_ops:
        for value in values_in(open_ops.pop().args):
            maker = makers.get(value)
            if maker is not None and id(maker) not in wanted:
                wanted.add(id(maker))
                open_ops.append(maker)
    return Block((), [op for op in body.ops if id(op) in wanted], ())


def _without(demands: list[Op], body: Block) -> Block:
    moved = set(map(id, demands))
    return Block(body.inputs, [op for op in body.ops if id(op) not in moved], body.outputs)
