"""prune: what no output and no effect needs goes: ops, results of `if`, carried values of `while`.

    %a = aten::mul.Tensor(%x, 2)             (removed: %a is not used)
    %b, %n = stator::while(...)         ->   %b = stator::while(...)

First every needed value is marked, from the outputs and the ops that must stay, backwards. A loop
is marked until nothing changes: a carried value may need another one on the next iteration. Then
the program is built again from what was marked. `is_removable` says which ops may go at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from stator.program.ir import Block, Op, Value, operands_of, ops_in, values_in
from stator.program.opset.queries import is_removable, kind_of
from stator.program.opset.row import Kind
from stator.program.program import Program

T = TypeVar("T")


def prune(program: Program) -> Program:
    """`program` without what it does not need."""
    needed: set[Value] = set()
    called = _called(program)
    functions = {name: block for name, block in program.functions.items() if name in called}
    for block in (program.body, *functions.values()):
        needed.update(values_in(block.outputs))
        _mark_block(block, needed)
    return replace(
        program,
        body=_kept_block(program.body, needed),
        functions={name: _kept_block(block, needed) for name, block in functions.items()},
    )


def drop_unused_stored(program: Program) -> Program:
    """`program` without the parameters, buffers and constants that nothing reads."""
    used = program.used_values()
    return replace(program, stored=tuple(item for item in program.stored if item.value in used))


def _called(program: Program) -> set[str]:
    """The functions that a run can reach."""
    called: set[str] = set()
    waiting = [program.body]
    while waiting:
        for op in ops_in(waiting.pop()):
            name = op.attributes.get("function") if kind_of(op) == "call" else None
            if isinstance(name, str) and name not in called:
                called.add(name)
                waiting.append(program.functions[name])
    return called


def _stays(op: Op, needed: set[Value]) -> bool:
    """Whether `op` is needed for a result, or for what it or an op inside it does."""
    if any(value in needed for value in op.results):
        return True
    if kind_of(op) in ("branch", "loop", "region"):
        return any(_stays(inner, set()) for block in op.blocks for inner in block.ops)
    return not is_removable(op)


def _mark_block(block: Block, needed: set[Value]) -> None:
    for op in reversed(block.ops):
        if _stays(op, needed):
            MARKS.get(kind_of(op), _mark_op)(op, needed)


def _mark_op(op: Op, needed: set[Value]) -> None:
    needed.update(operands_of(op))


def _mark_if(op: Op, needed: set[Value]) -> None:
    _mark_op(op, needed)
    for block in op.blocks:
        for result, output in zip(op.results, block.outputs, strict=True):
            if result in needed:
                needed.update(values_in((output,)))
        _mark_block(block, needed)


def _mark_while(op: Op, needed: set[Value]) -> None:
    """Until a round adds nothing: what an iteration needs, the one before must yield."""
    (body,) = op.blocks
    needed.update(values_in(op.args[:1]), values_in(body.outputs[:1]))
    before = -1
    while before != len(needed):
        before = len(needed)
        carried = zip(op.results, body.inputs, op.args[1:], body.outputs[1:], strict=True)
        for result, taken, given, yielded in carried:
            if result in needed or taken in needed:
                needed.update((result, taken), values_in((given, yielded)))
        _mark_block(body, needed)


def _mark_backward(op: Op, needed: set[Value]) -> None:
    """Autograd may ask for every gradient."""
    _mark_op(op, needed)
    needed.update(op.results)
    for block in op.blocks:
        needed.update(values_in(block.outputs))
        _mark_block(block, needed)


MARKS: dict[Kind, Callable[[Op, set[Value]], None]] = {
    "branch": _mark_if,
    "region": _mark_if,
    "try": _mark_if,
    "loop": _mark_while,
    "gradient": _mark_backward,
}


def _kept_block(block: Block, needed: set[Value]) -> Block:
    ops = [_kept_op(op, needed) for op in block.ops if _stays(op, needed)]
    return Block(block.inputs, ops, block.outputs)


def _kept_op(op: Op, needed: set[Value]) -> Op:
    kind = kind_of(op)
    kept = [value in needed for value in op.results]
    if kind in ("branch", "try", "region"):
        blocks = tuple(_only(_kept_block(block, needed), kept, 0) for block in op.blocks)
        return replace(op, results=_chosen(op.results, kept), blocks=blocks)
    if kind == "loop":
        body = _only(_kept_block(op.blocks[0], needed), kept, 1)
        body.inputs = _chosen(body.inputs, kept)
        args = op.args[:1] + _chosen(op.args[1:], kept)
        return replace(op, args=args, results=_chosen(op.results, kept), blocks=(body,))
    if not op.blocks:
        return op
    return replace(op, blocks=tuple(_kept_block(block, needed) for block in op.blocks))


def _only(block: Block, kept: list[bool], skipped: int) -> Block:
    outputs = block.outputs[:skipped] + _chosen(block.outputs[skipped:], kept)
    return Block(block.inputs, block.ops, outputs)


def _chosen(items: tuple[T, ...], kept: list[bool]) -> tuple[T, ...]:
    return tuple(item for item, keep in zip(items, kept, strict=True) if keep)
