"""check_boundary(): the rules for what a program takes, gives and keeps; no op is looked up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from stator.errors import ProgramError
from stator.program.ir import Arg, Op, Value
from stator.program.program import Program
from stator.program.structure import Structure, positions_in
from stator.program.typing_rules import described, fits
from stator.program.unions import given_faults, list_faults


def check_boundary(program: Program) -> None:
    """ProgramError unless the state, the inputs and the outputs of `program` keep the rules."""
    _check_state(program)
    _check_structure(program.input_structure, len(program.call_inputs), "input")
    _check_structure(program.output_structure, len(program.call_outputs), "output")


def _check_state(program: Program) -> None:
    """What a run leaves of the state, at its end or where it raises, is what the next one takes."""
    count = program.state_count
    if any(use.count < 0 for use in program.state) or count > min(
        len(program.inputs), len(program.body.outputs)
    ):
        broken("the state has more values than the inputs or the outputs", None)
    if len({use.name for use in program.state}) < len(program.state):
        broken("a state is there twice", None)
    before = program.state_inputs
    for fault in (*list_faults(before), *given_faults(before, program.state_outputs)):
        broken(fault, None)
    for arg, value in zip(program.state_outputs, before, strict=True):
        if not fits(arg, value.type):
            broken(f"the state %{value.name}: {value.type} becomes {described(arg)}", None)
    for op in program.ops():
        if op.name == "stator::note":
            check_pairs(op, "the state is", op.args, before)


def check_pairs(op: Op, what: str, args: Sequence[Arg], wanted: Sequence[Value]) -> None:
    """Each of `args` fits the value that it becomes."""
    if len(args) != len(wanted):
        broken(f"{op.name}: {what} {len(args)} values where {len(wanted)} are expected", op)
    for arg, value in zip(args, wanted, strict=True):
        if not fits(arg, value.type):
            broken(f"{op.name}: {what} {described(arg)} for %{value.name}: {value.type}", op)


def _check_structure(structure: Structure, leaves: int, which: str) -> None:
    for position in positions_in(structure):
        if not 0 <= position < leaves:
            broken(f"the {which} structure names leaf {position} of {leaves}", None)


def broken(rule: str, op: Op | None) -> NoReturn:
    """Raise the error for a rule that the program breaks, at `op`."""
    raise ProgramError(rule, at=op.place if op else None, fix="report this as a bug in Stator")
