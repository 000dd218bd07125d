"""Counted loops: loops whose iterations the host can count before they run.

    for t in range(x.shape[0]):        the number of iterations is a size
    while i < n:                       or a number that is read of a tensor once, before the loop

A recording can hold such a loop as its iterations, one after the other: what it carries may change
its size, and lists may grow. A loop whose end depends on what it computes is no counted loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from stator.optimize.device_numbers import READS
from stator.optimize.limited_loops import limit_of, limited_loops
from stator.program.ir import Arg, Op, Value, values_in, with_inner_ops
from stator.program.opset.queries import kind_of
from stator.program.program import Program
from stator.program.types import ListType, NumberType, TensorType

LISTS = frozenset({"stator::list_make", "stator::list_append"})


def is_list(value: Value) -> bool:
    """Whether a value is a list of tensors."""
    return isinstance(value.type, ListType) and isinstance(value.type.element, TensorType)


def lists_of(op: Op) -> Iterator[Value]:
    """The lists that `op` has to do with, its blocks included."""
    for inner in with_inner_ops([op]):
        around = [value for block in inner.blocks for value in block.inputs]
        around += [value for block in inner.blocks for value in values_in(block.outputs)]
        for value in (*values_in(inner.args), *inner.results, *around):
            if isinstance(value.type, ListType):
                yield value


def tests_of(loop: Op) -> Iterator[Arg]:
    """What decides whether there is an iteration: the first, and each next one."""
    yield loop.args[0]
    yield loop.blocks[0].outputs[0]


def read_for_loops(program: Program) -> frozenset[Value]:
    """The numbers that the host has to read: they decide a loop in which something grows."""
    ops = [*program.ops()]
    loops = [op for op in ops if kind_of(op) == "loop"]
    wanted = [test for loop in loops if any(lists_of(loop)) for test in tests_of(loop)]
    for loop in limited_loops(program):
        limit = limit_of(loop)
        wanted += [loop.args[1 + limit.counter], limit.bound] if limit is not None else []
    sources = _sources(ops)
    found: set[Value] = set()
    waiting = list(values_in(tuple(wanted)))
    while waiting:
        value = waiting.pop()
        if value not in found:
            found.add(value)
            waiting += sources.get(value, ())
    reads = {op.results[0] for op in ops if op.name in READS}
    return frozenset(found & reads)


def _sources(ops: Iterable[Op]) -> Mapping[Value, tuple[Value, ...]]:
    """For each number that is computed or carried: the numbers that it comes from."""
    found: dict[Value, tuple[Value, ...]] = {}
    for op in ops:
        if kind_of(op) == "number":
            found[op.results[0]] = _numbers(op.args)
        elif kind_of(op) == "loop":
            (body,) = op.blocks
            rows = zip(op.args[1:], body.inputs, body.outputs[1:], op.results, strict=True)
            for given, taken, yielded, result in rows:
                found[taken] = found[result] = _numbers((given, yielded))
        elif kind_of(op) == "branch":
            first, second = (block.outputs for block in op.blocks)
            for result, one, other in zip(op.results, first, second, strict=True):
                found[result] = _numbers((op.args[0], one, other))
    return found


def _numbers(args: tuple[Arg, ...]) -> tuple[Value, ...]:
    return tuple(value for value in values_in(args) if isinstance(value.type, NumberType))


def varying_numbers(program: Program) -> frozenset[Value]:
    """The numbers that are others in each iteration of some loop."""
    ops = [*program.ops()]
    found = {v for op in ops if kind_of(op) == "loop" for v in op.blocks[0].inputs}
    for op in ops:  # in the order of the program
        if kind_of(op) == "number" and found.intersection(values_in(op.args)):
            found.update(op.results)
    return frozenset(value for value in found if isinstance(value.type, NumberType))
