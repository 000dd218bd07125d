"""Programs broken on purpose: what verify must find."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import stator
from stator.api.entries import EntryTable
from stator.api.program_cache import ProgramCache
from stator.execute.interpreter import INTERPRETER
from stator.program.ir import Block, Op, Value, ops_in
from stator.program.program import Program

Fault = Callable[[Program], None]


def with_fault(function: Any, fault: Fault, *calls: tuple[Any, ...]) -> Any:
    """`function`, static, captured for `calls`, with a fault in each of its programs."""
    static = stator.to_static(function)
    for call in calls:
        static(*call)
    cache = ProgramCache(tuple(broken(one, fault) for one in static._cache.all()))
    static._cache, static._specializer = cache, static._specializer.with_cache(cache)
    static._entries = EntryTable()
    return static


def broken(concrete: Any, fault: Fault) -> Any:
    """The captured program with a fault."""
    program = copied(concrete.program)
    fault(program)
    run = INTERPRETER.prepare(program).bind(concrete.captured.tensors)
    return dataclasses.replace(concrete, program=program, run=run)


def copied(program: Program) -> Program:
    """A program of its own ops; its values are shared."""
    made = copy.copy(program)
    made.body = _block(program.body)
    return made


def _block(block: Block) -> Block:
    ops = [dataclasses.replace(op, blocks=tuple(map(_block, op.blocks))) for op in block.ops]
    return dataclasses.replace(block, ops=ops)


# ---- the faults


def first(program: Program, name: str) -> Op:
    """The first op of that name."""
    return next(op for op in ops_in(program.body) if op.name == name)


def sides_swapped(program: Program) -> None:
    """The two sides of the first branch stand the wrong way round."""
    op = first(program, "stator::if")
    op.blocks = op.blocks[::-1]


def constant(name: str, was: Any, now: Any) -> Fault:
    """An op is given another constant."""

    def fault(program: Program) -> None:
        op = next(op for op in ops_in(program.body) if op.name == name and was in op.args)
        op.args = tuple(now if arg is was or arg == was else arg for arg in op.args)

    return fault


def one_iteration_only(program: Program) -> None:
    """The first loop ends after its first iteration."""
    body = first(program, "stator::while").blocks[0]
    body.outputs = (False, *body.outputs[1:])


def never_begins(program: Program) -> None:
    """The first loop runs no iteration."""
    op = first(program, "stator::while")
    op.args = (False, *op.args[1:])


def never_ends(program: Program) -> None:
    """The condition of the first loop always holds, once it does."""
    body = first(program, "stator::while").blocks[0]
    body.outputs = (True, *body.outputs[1:])


def other_op(was: str, now: str) -> Fault:
    """An op is another one."""

    def fault(program: Program) -> None:
        first(program, was).name = now

    return fault


def dropped(name: str) -> Fault:
    """The first op of that name is not there; its result is its first argument."""

    def fault(program: Program) -> None:
        _drop(program.body, name)

    return fault


def _drop(block: Block, name: str) -> bool:
    for op in block.ops:
        if op.name == name:
            block.ops.remove(op)
            for result in op.results:
                _rename(block, result, op.args[0])
            return True
        if any(_drop(inner, name) for inner in op.blocks):
            return True
    return False


def _rename(block: Block, old: Value, new: Any) -> None:
    for op in block.ops:
        op.args = tuple(new if arg is old else arg for arg in op.args)
        for inner in op.blocks:
            _rename(inner, old, new)
    block.outputs = tuple(new if arg is old else arg for arg in block.outputs)


def detached(name: str) -> Fault:
    """The result of an op is cut off from autograd."""

    def fault(program: Program) -> None:
        for block in [program.body]:
            at = next(k for k, op in enumerate(block.ops) if op.name == name)
            op = block.ops[at]
            (result,) = op.results
            inner = Value(f"{result.name}_before", result.type)
            block.ops[at] = dataclasses.replace(op, results=(inner,))
            cut = Op("aten::detach", (inner,), {}, (result,), place=op.place)
            block.ops.insert(at + 1, cut)

    return fault
