"""verify(): the rules every Program keeps; run after capture and after the passes.

Values are defined once and before they are used. Operands and results of Stator's own ops are as
their signatures have them, those of torch's as their schemas have them. What goes into a block, and
what it yields, fits what it becomes: `typing_rules` has the subtyping rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn

from stator.errors import ProgramError
from stator.program.ir import Arg, Block, Op, Value, ops_in, values_in
from stator.program.opset.queries import kind_of, row_of
from stator.program.opset.row import Kind, OpRow
from stator.program.opset.signature import problem_with
from stator.program.opset.torch_calls import call_problem
from stator.program.program import Program
from stator.program.structure import Structure, positions_in
from stator.program.types import NumberType, TextType
from stator.program.typing_rules import described, fits
from stator.program.unions import given_faults, list_faults, op_faults

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
    _check_state(program)
    _check_structure(program.input_structure, len(program.call_inputs), "input")
    _check_structure(program.output_structure, len(program.call_outputs), "output")
    return program


def _check_state(program: Program) -> None:
    """What a run leaves of the state, at its end or where it raises, is what the next one takes."""
    count = program.state_count
    if any(use.count < 0 for use in program.state) or count > min(
        len(program.inputs), len(program.body.outputs)
    ):
        _broken("the state has more values than the inputs or the outputs", None)
    if len({use.name for use in program.state}) < len(program.state):
        _broken("a state is there twice", None)
    before = program.state_inputs
    for fault in (*list_faults(before), *given_faults(before, program.state_outputs)):
        _broken(fault, None)
    for arg, value in zip(program.state_outputs, before, strict=True):
        if not fits(arg, value.type):
            _broken(f"the state %{value.name}: {value.type} becomes {described(arg)}", None)
    blocks = (program.body, *program.functions.values())
    for op in (op for block in blocks for op in ops_in(block) if op.name == "stator::note"):
        _check_pairs(op, "the state is", op.args, before)


def _define(values: tuple[Value, ...], visible: set[Value], names: set[str], op: Op | None) -> None:
    for value in values:
        if value.name in names:
            _broken(f"%{value.name} is defined twice", op)
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
            _broken(fault, op)
        for inner in op.blocks:
            _check_block(inner, visible, names, program, where=f"a block of {op.name}")
        _define(op.results, visible, names, op)
    for value in values_in(block.outputs):
        if value not in visible:
            _broken(f"{where} yields %{value.name}, which it cannot see", None)
    visible.difference_update(block.inputs)
    for op in block.ops:
        visible.difference_update(op.results)


def _check_op(op: Op, visible: set[Value], program: Program) -> None:
    for value in values_in(op.args) + values_in(op.attributes):
        if value not in visible:
            _broken(f"{op.name} uses %{value.name} before it is defined", op)
    try:
        row = row_of(op.name)
    except LookupError as error:
        _broken(str(error), op)
    if len(op.blocks) != _count_blocks(op, row):
        _broken(f"{op.name} has {len(op.blocks)} blocks", op)
    problem = operand_problem(op)
    if problem is not None:
        _broken(problem, op)
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
        _broken("stator::if takes one condition, and blocks without inputs", op)
    _check_yields(op)


def _check_region(op: Op, _program: Program) -> None:
    if op.blocks[0].inputs:
        _broken("the block of stator::region has no inputs", op)
    _check_yields(op)


def _check_try(op: Op, _program: Program) -> None:
    asks: Any = op.attributes["asks"]
    if len(asks) != len(op.blocks) - 1 or op.blocks[0].inputs:
        _broken(
            "stator::try has a list of questions for each handler, and a body without inputs", op
        )
    for block, asked in zip(op.blocks[1:], asks, strict=True):
        kept = block.inputs[2 : 2 + len(op.args)]
        _check_pairs(op, "a handler is given", op.args, kept)
        wanted = (*(TextType(),) * 2, *(value.type for value in kept), *(BOOL,) * len(asked))
        if tuple(value.type for value in block.inputs) != wanted:
            _broken("a handler of stator::try takes a class, a text, what is kept and answers", op)
    _check_yields(op)


def _check_yields(op: Op) -> None:
    """What the blocks yield becomes the results; a block that always raises may yield anything."""
    for block in op.blocks:
        if _always_raises(block) and len(block.outputs) == len(op.results):
            continue
        _check_pairs(op, "a block yields", block.outputs, op.results)


def _always_raises(block: Block) -> bool:
    """Whether the last op of `block` raises, or each of its blocks does."""
    if not block.ops:
        return False
    last = block.ops[-1]
    if kind_of(last) in ("branch", "try", "region"):
        return all(map(_always_raises, last.blocks))
    return kind_of(last) == "raise"


def _check_while(op: Op, _program: Program) -> None:
    (body,) = op.blocks
    _check_pairs(op, "the loop is given", op.args[1:], body.inputs)
    if not body.outputs or not fits(body.outputs[0], BOOL):
        _broken("the body of stator::while does not yield a condition first", op)
    _check_pairs(op, "the body yields", body.outputs[1:], body.inputs)
    for outputs in (op.args[1:], body.outputs[1:]):
        _check_pairs(op, "the loop gives", outputs, op.results)


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
        _check_pairs(op, "it is given", results, op.results)
        numbers = (len(op.results), len(inputs)) == (len(block.inputs), len(block.outputs))
    if not numbers:
        _broken(f"the block of {op.name} takes or yields another number of gradients", op)


def _check_call(op: Op, program: Program) -> None:
    name = op.attributes["function"]
    function = program.functions.get(str(name))
    if function is None:
        _broken(f"there is no function {name!r}", op)
    _check_pairs(op, f"function {name} is given", op.args, function.inputs)
    _check_pairs(op, f"function {name} gives", function.outputs, op.results)


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


def _check_pairs(op: Op, what: str, args: Sequence[Arg], wanted: Sequence[Value]) -> None:
    """Each of `args` fits the value that it becomes."""
    if len(args) != len(wanted):
        _broken(f"{op.name}: {what} {len(args)} values where {len(wanted)} are expected", op)
    for arg, value in zip(args, wanted, strict=True):
        if not fits(arg, value.type):
            _broken(f"{op.name}: {what} {described(arg)} for %{value.name}: {value.type}", op)


def _check_structure(structure: Structure, leaves: int, which: str) -> None:
    for position in positions_in(structure):
        if not 0 <= position < leaves:
            _broken(f"the {which} structure names leaf {position} of {leaves}", None)


def _broken(rule: str, op: Op | None) -> NoReturn:
    raise ProgramError(rule, at=op.place if op else None, fix="report this as a bug in Stator")
