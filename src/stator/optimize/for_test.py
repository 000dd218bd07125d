"""for_test: a program with the training behaviour of its ops turned off.

    aten::dropout(%x, 0.5, True)                       ->   aten::dropout(%x, 0.5, False)
    aten::batch_norm(..., training=True, ...)          ->   the stored statistics are used
    aten::add_(%bn.num_batches_tracked, 1)             ->   nothing
    aten::scaled_dot_product_attention(..., 0.1, ...)  ->   no dropout

An op that has no stored statistics goes on using those of the batch, as in eager code.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from stator.program.ir import Arg, Block, Op, Value
from stator.program.opset.queries import is_stators, written_by
from stator.program.opset.torch_ops import STATISTICS
from stator.program.program import Program
from stator.program.registry import argument_names

SWITCHES = ("train", "training", "use_input_stats")
RATES = ("dropout_p",)
COUNTER = "num_batches_tracked"


def for_test(program: Program, training_checks: Collection[Op] = ()) -> Program:
    """`program` as it is in evaluation, where `training_checks` need not hold."""
    counters = {s.value for s in program.stored if s.name.rpartition(".")[2] == COUNTER}
    gone = _Gone(counters, {id(op) for op in training_checks})
    return program.with_blocks(lambda block: _block(block, gone))


@dataclass(frozen=True)
class _Gone:
    """What evaluation does not do: count batches, and check that they are large enough."""

    counters: set[Value]
    checks: set[int]

    def __contains__(self, op: Op) -> bool:
        return id(op) in self.checks or any(value in self.counters for value in written_by(op))


def _block(block: Block, gone: _Gone) -> Block:
    ops = [_switched(op, gone) for op in block.ops if op not in gone]
    return Block(block.inputs, ops, block.outputs)


def _switched(op: Op, gone: _Gone) -> Op:
    op = replace(op, blocks=tuple(_block(inner, gone) for inner in op.blocks))
    if is_stators(op.name):
        return op
    names = argument_names(op.name)
    given: dict[str, Arg] = dict(zip(names, op.args, strict=False)) | op.attributes
    if any(name in names and given.get(name) is None for name in STATISTICS):
        return op
    args = tuple(_off(name, arg) for name, arg in zip(names, op.args, strict=False))
    attributes = {name: _off(name, arg) for name, arg in op.attributes.items()}
    return replace(op, args=args, attributes=attributes)


def _off(name: str, arg: Arg) -> Arg:
    if name in SWITCHES and isinstance(arg, bool):
        return False
    return 0.0 if name in RATES and isinstance(arg, float) else arg
