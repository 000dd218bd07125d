"""Programs in which regions are calls of `stator_regions::run`, and regions as programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from stator.program import structure
from stator.program.ir import Arg, Block, Op, Value, ops_in, used_by
from stator.program.program import Program
from stator.program.regions import tensors_first, without_regions
from stator.program.types import NumberType, TensorType
from stator.program.verifier import verify
from stator.regions.operators import RUN, add_region
from stator.regions.region import ProgramRegion

DTYPES = {"bool": "bool", "int": "int64", "float": "float64"}  # of a number in a tensor


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


def with_calls(program: Program, regions: Mapping[Op, ProgramRegion]) -> Program:
    """`program` with calls of these regions; the ops of other regions are in their place."""
    calls = {op: _call(region) for op, region in regions.items()}
    return verify(without_regions(program.with_blocks(lambda block: _with_calls(block, calls))))


def _call(region: ProgramRegion) -> tuple[Op, ...]:
    """The call of a region; its numbers are read of the tensors that the call gives."""
    tensors = tuple(v for v in region.inputs if isinstance(v.type, TensorType))
    numbers = region.inputs[len(tensors) :]
    attributes: dict[str, Arg] = {"region": add_region(region)}
    results, reads = list[Value](), list[Op]()
    for value in region.op.results:
        if not isinstance(value.type, NumberType):
            results.append(value)
            continue
        kind = TensorType(DTYPES[value.type.kind], (), device_of(region.op))
        results.append(Value(f"{value.name}.tensor", kind))
        reads.append(Op("aten::item", (results[-1],), {}, (value,), (), region.place))
    call = Op(RUN, (tensors, numbers), attributes, tuple(results), (), region.place)
    return call, *reads


def device_of(region: Op) -> str:
    """The device that the tensors of a region are on."""
    values = (value for op in ops_in(region.blocks[0]) for value in (*used_by(op), *op.results))
    return next(value.type.device for value in values if isinstance(value.type, TensorType))


def _with_calls(block: Block, calls: Mapping[Op, Sequence[Op]]) -> Block:
    ops: list[Op] = []
    for op in block.ops:
        if op in calls:
            ops += calls[op]
        else:
            inner = tuple(_with_calls(one, calls) for one in op.blocks)
            ops.append(replace(op, blocks=inner))
    return Block(block.inputs, ops, block.outputs)
