"""Limited loops: loops that data may end early, after a number of iterations that the host knows.

    while n < 128:                          at most 128 iterations; `tokens` grows
        tokens = torch.cat([tokens, best(tokens)])
        n += 1
        if tokens[-1] == end:
            break

A recording can hold such a loop as its iterations, one after the other, each of which the device
runs or skips: what the loop carries may change its size. The host learns afterwards how many have
run, and takes what the last of them gave; so nothing after the loop is in the same recording.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stator.program.ir import Arg, Block, Op, Value, ops_in, values_in
from stator.program.opset.queries import kind_of
from stator.program.program import Program
from stator.program.sizes import AnySize
from stator.program.types import NumberType, TensorType

RISES = {"stator::lt": 0, "stator::le": 0, "stator::gt": 1, "stator::ge": 1}  # the counter's place


@dataclass(frozen=True)
class LoopLimit:
    """A loop ends when its counter reaches a bound."""

    counter: int  # which of the values that the loop carries
    step: int
    bound: Arg


def keeps_sizes(loop: Op) -> bool:
    """Whether the tensors that a loop carries have the same sizes in every iteration."""
    (body,) = loop.blocks
    for given, taken, result in zip(loop.args[1:], body.inputs, body.outputs[1:], strict=True):
        kinds = [value.type for value in values_in((given, taken, result))]
        shapes = {kind.shape for kind in kinds if isinstance(kind, TensorType)}
        if len(shapes) > 1 or any(isinstance(n, AnySize) for shape in shapes for n in shape):
            return False
    return True


def limited_loops(program: Program) -> frozenset[Op]:
    """The loops of `program` whose tensors change their sizes, and that have a limit."""
    loops = (op for op in program.ops() if kind_of(op) == "loop")
    return frozenset(op for op in loops if not keeps_sizes(op) and limit_of(op) is not None)


def limit_of(loop: Op) -> LoopLimit | None:
    """The limit of a loop, if it has one."""
    (body,) = loop.blocks
    inside = list(ops_in(body))
    makers = {value: op for op in inside for value in op.results}
    varying = {*makers, *body.inputs, *(v for op in inside for b in op.blocks for v in b.inputs)}
    for test in _conjuncts(body.outputs[0], makers):
        op = makers.get(test) if isinstance(test, Value) else None
        if op is None or op.name not in RISES:
            continue
        place = RISES[op.name]
        counter, bound = op.args[place], op.args[1 - place]
        number = _rising(counter, makers, body)
        is_fixed = isinstance(bound, int) or (
            isinstance(bound, Value) and bound not in varying and bound.type == NumberType("int")
        )
        if number is not None and is_fixed:
            return LoopLimit(number, _step(number, makers, body), bound)
    return None


def _conjuncts(arg: Arg, makers: Mapping[Value, Op]) -> Iterator[Arg]:
    """What is true whenever `arg` is."""
    yield arg
    op = makers.get(arg) if isinstance(arg, Value) else None
    if op is None:
        return
    if op.name in ("stator::and", "stator::bool"):
        for one in op.args:
            yield from _conjuncts(one, makers)
    elif kind_of(op) == "branch":
        then, orelse = (block.outputs[op.results.index(arg)] for block in op.blocks)
        if then is False:
            yield from _conjuncts(orelse, makers)
        elif orelse is False:
            yield from _conjuncts(op.args[0], makers)
            yield from _conjuncts(then, makers)


def _rising(arg: Arg, makers: Mapping[Value, Op], body: Block) -> int | None:
    """The counter that `arg` is, or is computed from by adding a constant."""
    if arg in body.inputs:
        number = body.inputs.index(arg)
        return number if _step(number, makers, body) > 0 else None
    op = makers.get(arg) if isinstance(arg, Value) else None
    if op is None or op.name != "stator::add" or not any(isinstance(a, int) for a in op.args):
        return None
    (other,) = values_in(op.args) or (None,)
    return _rising(other, makers, body) if other is not None else None


def _step(number: int, makers: Mapping[Value, Op], body: Block) -> int:
    """By how much a carried integer grows in each iteration; 0 if that is not a constant."""
    taken, yielded = body.inputs[number], body.outputs[1 + number]
    op = makers.get(yielded) if isinstance(yielded, Value) else None
    if op is None or op.name != "stator::add" or taken.type != NumberType("int"):
        return 0
    steps = [arg for arg in op.args if isinstance(arg, int) and not isinstance(arg, bool)]
    return steps[0] if len(steps) == 1 and taken in op.args else 0
