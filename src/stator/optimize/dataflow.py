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

from stator.optimize.alias import Aliases
from stator.optimize.prune import drop_unused_stored, prune
from stator.optimize.restrict import with_outputs
from stator.program.ir import Arg, Block, Op, Value, used_by, values_in, with_inner_ops
from stator.program.opset.queries import is_pure, is_stators, kind_of, written_by
from stator.program.program import Program
from stator.program.verifier import verify


def needed_for(
    program: Program, outputs: Sequence[Arg], *, must_stay: Callable[[Op], bool]
) -> Program:
    """The part of `program` that `outputs` need, giving them as a list."""
    kept, needed = _backwards(program, outputs, must_stay)
    checks = _checks_in_reach(program, kept, needed)
    kept, _ = _backwards(program, outputs, lambda op: must_stay(op) or id(op) in checks)
    body = Block(program.body.inputs, kept, ())
    whole = with_outputs(replace(program, body=body), outputs)
    return verify(drop_unused_stored(prune(whole)))


def _backwards(
    program: Program, outputs: Sequence[Arg], must_stay: Callable[[Op], bool]
) -> tuple[list[Op], set[Value]]:
    """The ops that are needed, in their order, and every value that they or the outputs name."""
    aliases = Aliases(program)
    needed, kept = set(values_in(tuple(outputs))), list[Op]()
    for op in reversed(program.body.ops):
        if _is_needed(op, needed, aliases) or must_stay(op):
            kept.append(op)
            needed.update(used_by(op))
    return kept[::-1], needed


def _is_needed(op: Op, needed: set[Value], aliases: Aliases) -> bool:
    if kind_of(op) == "mode" or any(value in needed for value in op.results):
        return True
    written = [value for inner in with_inner_ops([op]) for value in written_by(inner)]
    return any(aliases.share(one, other) for one in written for other in needed)


def _checks_in_reach(program: Program, kept: list[Op], needed: set[Value]) -> set[int]:
    """The ids of the effects that look at nothing but what is there, or can be made from it."""
    there, checks = set(map(id, kept)), set[int]()
    seen = {value for value in program.inputs if value in needed}
    seen.update(stored.value for stored in program.stored)
    for op in program.body.ops:
        if id(op) in there or (_looked_at(op) <= seen and (is_pure(op) or _is_check(op))):
            seen.update(op.results)
            if _is_check(op):
                checks.add(id(op))
    return checks


def _looked_at(op: Op) -> set[Value]:
    inner = list(with_inner_ops([op]))
    made = {value for one in inner for value in one.results}
    made.update(value for one in inner for block in one.blocks for value in block.inputs)
    return set(used_by(op)) - made


def _is_check(op: Op) -> bool:
    """An op that gives nothing, and prints or raises."""
    return not op.results and all(
        is_stators(inner.name) or is_pure(inner) for inner in with_inner_ops([op])
    )
