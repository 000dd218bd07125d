"""restrict: a program of fewer inputs and other outputs, without what those do not need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from stator.optimize.prune import drop_unused_stored, prune
from stator.program import structure as shape
from stator.program.ir import Arg, Block, Value
from stator.program.program import Program
from stator.program.verifier import verify


def restrict(program: Program, outputs: Sequence[Arg]) -> Program:
    """`program` with these outputs, without what can go when they are all that is wanted."""
    return verify(drop_unused_stored(prune(with_outputs(program, outputs))))


def with_outputs(program: Program, outputs: Sequence[Arg]) -> Program:
    """`program` with these outputs, which it gives as a list."""
    body = Block(program.body.inputs, program.body.ops, tuple(outputs))
    leaves = tuple(shape.Leaf(index) for index in range(len(outputs)))
    return replace(program, body=body, output_structure=shape.Sequence("list", leaves))


def with_inputs(program: Program, inputs: Sequence[Value]) -> Program:
    """`program` called with these inputs, by position; it must not use the others."""
    leaves = tuple(shape.Leaf(index) for index in range(len(inputs)))
    structure = shape.Sequence("tuple", (shape.Sequence("tuple", leaves), shape.Mapping((), ())))
    return verify(replace(program, inputs=tuple(inputs), input_structure=structure))


def used_inputs(program: Program) -> set[Value]:
    """The inputs that a run of `program` may read."""
    return program.used_values() & set(program.inputs)
