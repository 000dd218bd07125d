"""Regions: runs of ops that a backend may compile as one; a program means the same without them.

    %5: f32[n] = stator::region() {          %3: f32[n] = aten::exp(%x)
      %3: f32[n] = aten::exp(%x)        =    %5: f32[n] = aten::tanh(%3)
      %4: f32[n] = aten::tanh(%3)
      yield %4
    }

The block has no inputs: like the blocks of a branch, it names values from around it. Only
`optimize.regions` makes regions, for a backend that compiles them. They are never in a file: what
writes a program for others, the native runtime included, takes them out first.
"""

from __future__ import annotations

from dataclasses import replace

from stator.program.ir import Arg, Block, Op, Value, ops_in, used_by
from stator.program.program import Program
from stator.program.types import TensorType

REGION = "stator::region"


def regions_in(program: Program) -> tuple[Op, ...]:
    """Its regions, in the order of the program."""
    return tuple(op for op in program.ops() if op.name == REGION)


def region_inputs(region: Op) -> tuple[Value, ...]:
    """What a region uses of the values around it, in the order of the first use."""
    (block,) = region.blocks
    made = {value for op in ops_in(block) for value in op.results}
    made.update(v for op in ops_in(block) for inner in op.blocks for v in inner.inputs)
    return tuple(dict.fromkeys(value for value in used_by(region) if value not in made))


def tensors_first(region: Op) -> tuple[Value, ...]:
    """What a region uses of the values around it: its tensors, then its integers."""
    inputs = region_inputs(region)
    tensors = tuple(value for value in inputs if isinstance(value.type, TensorType))
    return (*tensors, *(value for value in inputs if value not in tensors))


def without_regions(program: Program) -> Program:
    """`program` with the ops of each region in the place of it; itself if it has none."""
    if not regions_in(program):
        return program
    known: dict[Value, Arg] = {}
    return program.with_blocks(lambda block: _spliced(block, known))


def _spliced(block: Block, known: dict[Value, Arg]) -> Block:
    ops: list[Op] = []
    for op in block.ops:
        blocks = tuple(_spliced(inner, known) for inner in op.blocks)
        if op.name == REGION:
            ops += blocks[0].ops
            known.update(zip(op.results, blocks[0].outputs, strict=True))
            continue
        attributes = {name: _renamed(arg, known) for name, arg in op.attributes.items()}
        args = tuple(_renamed(arg, known) for arg in op.args)
        ops.append(replace(op, args=args, attributes=attributes, blocks=blocks))
    return Block(block.inputs, ops, tuple(_renamed(arg, known) for arg in block.outputs))


def _renamed(arg: Arg, known: dict[Value, Arg]) -> Arg:
    if isinstance(arg, tuple):
        return tuple(_renamed(item, known) for item in arg)
    return known.get(arg, arg) if isinstance(arg, Value) else arg
