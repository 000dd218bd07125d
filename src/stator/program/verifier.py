"""verify(): the rules every Program keeps; run after capture and after every pass."""

from __future__ import annotations

from typing import Any, NoReturn

from stator.errors import ProgramError
from stator.program.ir import Block, Op, Value, values_in
from stator.program.ops import STATOR_OPS
from stator.program.program import Program
from stator.program.structure import Columns, Fixed, Leaf, Structure, Variant

BLOCKS = {"stator::if": 2, "stator::while": 1, "stator::custom_gradient": 1, "stator::hook": 1}


def verify(program: Program) -> Program:
    """`program` itself; raises ProgramError at the first rule it breaks."""
    names: set[str] = set()
    visible: set[Value] = set()
    _define(program.inputs, visible, names, None)
    _define(tuple(stored.value for stored in program.stored), visible, names, None)
    for name, function in program.functions.items():
        _check_block(function, set(visible), names, program, where=f"function {name}")
    _check_block(program.body, visible, names, program, where=f"program {program.name}")
    _check_structure(program.input_structure, len(program.inputs), "input")
    _check_structure(program.output_structure, len(program.body.outputs), "output")
    return program


def _define(values: tuple[Value, ...], visible: set[Value], names: set[str], op: Op | None) -> None:
    for value in values:
        if value.name in names:
            _broken(f"%{value.name} is defined twice", op)
        names.add(value.name)
        visible.add(value)


def _check_block(
    block: Block, visible: set[Value], names: set[str], program: Program, *, where: str
) -> None:
    _define(block.inputs, visible, names, None)
    for op in block.ops:
        _check_op(op, visible, program)
        for inner in op.blocks:
            _check_block(inner, set(visible), names, program, where=f"a block of {op.name}")
        _define(op.results, visible, names, op)
    for value in values_in(block.outputs):
        if value not in visible:
            _broken(f"{where} yields %{value.name}, which it cannot see", None)


def _check_op(op: Op, visible: set[Value], program: Program) -> None:
    if "::" not in op.name or (op.name.startswith("stator::") and op.name not in STATOR_OPS):
        _broken(f"there is no op {op.name}", op)
    for value in values_in(op.args) + values_in(op.attributes):
        if value not in visible:
            _broken(f"{op.name} uses %{value.name} before it is defined", op)
    if len(op.blocks) != _count_blocks(op):
        _broken(f"{op.name} has {len(op.blocks)} blocks", op)
    if op.name == "stator::if":
        _check_if(op)
    elif op.name == "stator::while":
        _check_while(op)
    elif op.name == "stator::try":
        _check_try(op)
    elif op.name == "stator::custom_gradient":
        _check_custom_gradient(op)
    elif op.name == "stator::call":
        _check_call(op, program)


def _count_blocks(op: Op) -> int:
    if op.name == "stator::try":
        catches = op.attributes.get("catches")
        return 1 + len(catches) if isinstance(catches, tuple) else 0
    return BLOCKS.get(op.name, 0)


def _check_if(op: Op) -> None:
    if len(op.args) != 1 or any(block.inputs for block in op.blocks):
        _broken("stator::if takes one condition, and blocks without inputs", op)
    if any(len(block.outputs) != len(op.results) for block in op.blocks):
        _broken("the blocks of stator::if yield another number of values than it gives", op)


def _check_try(op: Op) -> None:
    asks: Any = op.attributes.get("asks", ())
    counts = [0, *(2 + len(op.args) + len(asked) for asked in asks)]
    if [len(block.inputs) for block in op.blocks] != counts:
        _broken("the blocks of stator::try take another number of values than they are given", op)
    if any(len(block.outputs) != len(op.results) for block in op.blocks):
        _broken("the blocks of stator::try yield another number of values than it gives", op)


def _check_while(op: Op) -> None:
    carried, body = len(op.args) - 1, op.blocks[0]
    if not (carried == len(op.results) == len(body.inputs) == len(body.outputs) - 1):
        _broken("stator::while carries, takes, yields and gives different numbers of values", op)


def _check_custom_gradient(op: Op) -> None:
    results, inputs = op.args if len(op.args) == 2 else (None, None)
    if not isinstance(results, tuple) or not isinstance(inputs, tuple):
        _broken("stator::custom_gradient takes results and inputs", op)
    (block,) = op.blocks
    if not (len(results) == len(op.results) == len(block.inputs)):
        _broken("stator::custom_gradient takes, gives and is given different numbers", op)
    if len(block.outputs) != len(inputs):
        _broken("the block of stator::custom_gradient yields another number than it has inputs", op)


def _check_call(op: Op, program: Program) -> None:
    name = op.attributes.get("function")
    if not isinstance(name, str) or name not in program.functions:
        _broken(f"there is no function {name!r}", op)
    function = program.functions[name]
    if (len(op.args), len(op.results)) != (len(function.inputs), len(function.outputs)):
        _broken(f"function {name} is called with other numbers of values than it has", op)


def _check_structure(structure: Structure, leaves: int, which: str) -> None:
    if isinstance(structure, Leaf):
        if not 0 <= structure.position < leaves:
            _broken(f"the {which} structure names leaf {structure.position} of {leaves}", None)
    elif isinstance(structure, Variant):
        for item in (Leaf(structure.tag), *structure.alternatives):
            _check_structure(item, leaves, which)
    elif isinstance(structure, Columns):
        _check_structure(structure.item, leaves, which)
    elif not isinstance(structure, Fixed):
        for item in structure.items:
            _check_structure(item, leaves, which)


def _broken(rule: str, op: Op | None) -> NoReturn:
    raise ProgramError(rule, at=op.place if op else None, fix="report this as a bug in Stator")
