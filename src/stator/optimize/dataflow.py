"""needed_for: what some results of a program need, and nothing else.

`prune` keeps every op that could be seen to be gone: one that may raise, draws random numbers or
writes. Here the outputs decide alone. An op stays if an output needs its result, or reads where it
writes; if it is a check that `must_stay` names; or if it changes a mode. Prints, assertions and
other checks stay where they look at nothing but what stays anyway: what one op has checked, later
ones rely on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from stator.optimize.memory import Memory, written_by
from stator.optimize.prune import drop_unused_stored, prune
from stator.optimize.purity import is_pure
from stator.optimize.restrict import with_outputs
from stator.program.ir import Arg, Block, Op, Value, ops_in, used_by, values_in
from stator.program.ops import EFFECTS
from stator.program.program import Program
from stator.program.types import NumberType, TextType
from stator.program.verifier import verify

MODES = ("stator::set_grad", "stator::set_autocast")


def needed_for(
    program: Program, outputs: Sequence[Arg], *, must_stay: Callable[[Op], bool]
) -> Program:
    """The part of `program` that `outputs` need, giving them as a list."""
    memory, ops = Memory(program), program.body.ops
    needed = set(values_in(tuple(outputs)))
    kept: list[Op] = []
    for op in reversed(ops):
        if _is_needed(op, needed, memory) or must_stay(op):
            kept.insert(0, op)
            needed.update(used_by(op))
    kept = _with_checks(program, kept, needed)
    body = Block(program.body.inputs, kept, ())
    whole = with_outputs(replace(program, body=body), outputs)
    return verify(drop_unused_stored(prune(whole)))


def _is_needed(op: Op, needed: set[Value], memory: Memory) -> bool:
    if op.name in MODES or any(value in needed for value in op.results):
        return True
    written = [value for inner in ops_in(Block((), [op])) for value in written_by(inner)]
    return any(memory.share(one, other) for one in written for other in needed)


def _with_checks(program: Program, kept: list[Op], needed: set[Value]) -> list[Op]:
    """`kept`, and the effects that look at nothing but what is there, with the numbers they use."""
    there = set(map(id, kept))
    seen = {value for value in program.inputs if value in needed}
    seen.update(stored.value for stored in program.stored)
    ops = []
    for op in program.body.ops:
        if id(op) in there or (_is_check_or_number(op) and _looked_at(op) <= seen):
            seen.update(op.results)
            ops.append(op)
    return ops


def _looked_at(op: Op) -> set[Value]:
    inner = list(ops_in(Block((), [op])))
    made = {value for one in inner for value in one.results}
    made.update(value for one in inner for block in one.blocks for value in block.inputs)
    return set(used_by(op)) - made


def _is_check_or_number(op: Op) -> bool:
    if op.results:
        return is_pure(op) and all(isinstance(v.type, NumberType | TextType) for v in op.results)
    return all(
        inner.name in EFFECTS or inner.name.startswith("stator::") or is_pure(inner)
        for inner in ops_in(Block((), [op]))
    )
