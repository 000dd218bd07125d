"""verify(): the rules every Program keeps; run after capture and after the passes.

Values are defined once and before they are used. Operands and results of Stator's own ops are as
their signatures have them, those of torch's as their schemas have them. What goes into a block, and
what it yields, fits what it becomes: `typing_rules` has the subtyping rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from stator.program.boundary import broken, check_boundary, check_pairs
from stator.program.ir import Block, Op, Value, operands_of, values_in
from stator.program.opset.queries import kind_of, row_of
from stator.program.opset.row import Kind, OpRow
from stator.program.opset.signature import problem_with
from stator.program.opset.torch_calls import call_problem
from stator.program.program import Program
from stator.program.types import NumberType, TextType
from stator.program.typing_rules import fits
from stator.program.unions import op_faults

BOOL = NumberType("bool")


def verify(program: Program) -> Program:
    """`program` itself; raises ProgramError at the first rule it breaks."""
    names: set[str] = set()
    visible: set[Value] = set()
    _define(program.inputs, visible, names, None)
    _define(tuple(stored.value for stored in program.stored), visible, names, None)
    for name, function in program.functions.items():
        _check_block(function, visible, names, program, where=f"function {name}")
    _check_block(program.body, visible, names, program, where=f"program {program.name}")
    check_boundary(program)
    return program


def _define(values: tuple[Value, ...], visible: set[Value], names: set[str], op: Op | None) -> None:
    for value in values:
        if value.name in names:
            broken(f"%{value.name} is defined twice", op)
        names.add(value.name)
        visible.add(value)


def _check_block(
    block: Block, visible: set[Value], names: set[str], program: Program, *, where: str
) -> None:
    """Check `block`, whose ops see what is `visible`; what it defines is so only inside it."""
    _define(block.inputs, visible, names, None)
    for op in block.ops:
        _check_op(op, visible, program)
        for fault in op_faults(op, program):
            broken(fault, op)
        for inner in op.blocks:
            _check_block(inner, visible, names, program, where=f"a block of {op.name}")
        _define(op.results, visible, names, op)
    for value in values_in(block.outputs):
        if value not in visible:
            broken(f"{where} yields %{value.name}, which it cannot see", None)
    visible.difference_update(block.inputs)
    for op in block.ops:
        visible.difference_update(op.results)


def _check_op(op: Op, visible: set[Value], program: Program) -> None:
    for value in operands_of(op):
        if value not in visible:
            broken(f"{op.name} uses %{value.name} before it is defined", op)
    try:
        row = row_of(op.name)
    except LookupError as error:
        broken(str(error), op)
    if len(op.blocks) != _count_blocks(op, row):
        broken(f"{op.name} has {len(op.blocks)} blocks", op)
    problem = operand_problem(op)
    if problem is not None:
        broken(problem, op)
    check = CHECKS.get(row.kind)
    if check is not None:
        check(op, program)


def operand_problem(op: Op) -> str | None:
    """Why operands, attributes and results of a known op are wrong; None if they are right."""
    row = row_of(op.name)
    return call_problem(op) if row.kind == "torch" else problem_with(op, row)


def _count_blocks(op: Op, row: OpRow) -> int:
    if row.kind == "try":
        catches = op.attributes.get("catches")
        return 1 + len(catches) if isinstance(catches, tuple) else 0
    return len(row.blocks)


def _check_if(op: Op, _program: Program) -> None:
    if any(block.inputs for block in op.blocks):
        broken("stator::if takes one condition, and blocks without inputs", op)
    _check_yields(op)


def _check_region(op: Op, _program: Program) -> None:
    if op.blocks[0].inputs:
        broken("the block of stator::region has no inputs", op)
    _check_yields(op)


def _check_try(op: Op, _program: Program) -> None:
    asks: Any = op.attributes["asks"]
    if len(asks) != len(op.blocks) - 1 or op.blocks[0].inputs:
        broken(
            "stator::try has a list of questions for each handler, and a body without inputs", op
        )
    for block, asked in zip(op.blocks[1:], asks, strict=True):
        kept = block.inputs[2 : 2 + len(op.args)]
        check_pairs(op, "a handler is given", op.args, kept)
        wanted = (*(TextType(),) * 2, *(value.type for value in kept), *(BOOL,) * len(asked))
        if tuple(value.type for value in block.inputs) != wanted:
            broken("a handler of stator::try takes a class, a text, what is kept and answers", op)
    _check_yields(op)


def _check_yields(op: Op) -> None:
    """What the blocks yield becomes the results; a block that always raises may yield anything."""
    for block in op.blocks:
        if _always_raises(block) and len(block.outputs) == len(op.results):
            continue
        check_pairs(op, "a block yields", block.outputs, op.results)


def _always_raises(block: Block) -> bool:
    """Whether an op of `block` raises, or each block of one does: nothing comes after it."""
    return any(
        all(map(_always_raises, op.blocks))
        if kind_of(op) in ("branch", "try", "region")
        else kind_of(op) == "raise"
        for op in block.ops
    )


def _check_while(op: Op, _program: Program) -> None:
    (body,) = op.blocks
    check_pairs(op, "the loop is given", op.args[1:], body.inputs)
    if not body.outputs or not fits(body.outputs[0], BOOL):
        broken("the body of stator::while does not yield a condition first", op)
    check_pairs(op, "the body yields", body.outputs[1:], body.inputs)
    for outputs in (op.args[1:], body.outputs[1:]):
        check_pairs(op, "the loop gives", outputs, op.results)


def _check_gradient(op: Op, _program: Program) -> None:
    if not op.blocks:
        return
    (block,) = op.blocks
    if op.name == "stator::hook":
        numbers = (len(block.inputs), len(block.outputs)) == (1, 1)
    else:
        results, inputs = op.args
        assert isinstance(results, tuple)
        assert isinstance(inputs, tuple)
        check_pairs(op, "it is given", results, op.results)
        numbers = (len(op.results), len(inputs)) == (len(block.inputs), len(block.outputs))
    if not numbers:
        broken(f"the block of {op.name} takes or yields another number of gradients", op)


def _check_call(op: Op, program: Program) -> None:
    name = op.attributes["function"]
    function = program.functions.get(str(name))
    if function is None:
        broken(f"there is no function {name!r}", op)
    check_pairs(op, f"function {name} is given", op.args, function.inputs)
    check_pairs(op, f"function {name} gives", function.outputs, op.results)


CHECKS: Mapping[Kind, Callable[[Op, Program], None]] = MappingProxyType(
    {
        "branch": _check_if,
        "region": _check_region,
        "try": _check_try,
        "loop": _check_while,
        "gradient": _check_gradient,
        "call": _check_call,
    }
)
