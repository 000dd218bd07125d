"""Programs in which regions are calls of `stator_regions::run`, and regions as programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stator.inductor.operators import RUN, add_region
from stator.inductor.region import CompiledRegion
from stator.program import structure
from stator.program.ir import Block, Op
from stator.program.program import Program
from stator.program.regions import tensors_first, without_regions
from stator.program.types import TensorType
from stator.program.verifier import verify


def region_program(region: Op, name: str) -> Program:
    """The ops of a region as a program that takes its tensors, then its integers."""
    inputs, block = tensors_first(region), region.blocks[0]
    leaves = tuple(structure.Leaf(index) for index in range(len(inputs)))
    given = (structure.Sequence("tuple", leaves), structure.Mapping((), ()))
    results = tuple(structure.Leaf(index) for index in range(len(block.outputs)))
    return verify(
        Program(
            name, inputs, (), block,
            structure.Sequence("tuple", given), structure.Sequence("list", results),
        )
    )  # fmt: skip


def with_calls(program: Program, regions: Mapping[Op, CompiledRegion]) -> Program:
    """`program` with calls of these regions; the ops of other regions are in their place."""
    calls = {op: _call(region) for op, region in regions.items()}
    functions = {name: _with_calls(block, calls) for name, block in program.functions.items()}
    called = replace(program, body=_with_calls(program.body, calls), functions=functions)
    return verify(without_regions(called))


def _call(region: CompiledRegion) -> Op:
    tensors = tuple(v for v in region.inputs if isinstance(v.type, TensorType))
    numbers = region.inputs[len(tensors) :]
    attributes = {"region": add_region(region)}
    return Op(RUN, (tensors, numbers), {**attributes}, region.op.results, (), region.place)


def _with_calls(block: Block, calls: Mapping[Op, Op]) -> Block:
    ops = [
        calls[op]
        if op in calls
        else replace(op, blocks=tuple(_with_calls(inner, calls) for inner in op.blocks))
        for op in block.ops
    ]
    return Block(block.inputs, ops, block.outputs)
