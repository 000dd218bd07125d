"""Stored writes: reads and writes, in CUDA graphs, of memory that a program stores.

    self.cache[:, n] = key           a buffer that is a cache
    self.steps += 1                  or a counter
    self.norm(x)                     or statistics that training updates

A graph works on stored tensors where they are, so it may write to them. What is left to see to is
the order: nothing that has to do with the same memory goes before a region that does, and neither
does what could tell that a write has not happened yet. A view of a stored tensor is taken again
where it is needed. What is no view, such as `cache[:, n]` where only the device knows `n`, is used
in the region that makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from stator.optimize.alias import Aliases
from stator.optimize.region_rules import is_off
from stator.program.ir import (
    Block,
    Op,
    Value,
    operands_of,
    ops_in,
    used_by,
    values_in,
    with_inner_ops,
)
from stator.program.opset.in_files import stem_of
from stator.program.opset.queries import kind_of, written_by
from stator.program.program import Program
from stator.program.registry import schema_of
from stator.program.types import TensorType

INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8"})


class StoredWrites:
    """The stored memory that one program writes to."""

    def __init__(
        self, program: Program, aliases: Aliases, is_touched: Callable[[Value], bool]
    ) -> None:
        self._aliases = aliases
        self._ops = [*program.ops()]
        given = {aliases.root(value) for value in program.inputs}
        stored = {aliases.root(one.value) for one in program.stored if is_touched(one.value)}
        devices = {one.value.type.device for one in program.stored
                   if isinstance(one.value.type, TensorType)}  # fmt: skip
        self.roots = frozenset(stored - given) if len(devices) == 1 else frozenset()

    @property
    def statistics(self) -> frozenset[Value]:
        """Groups of memory that gradients have nothing to do with, though they are written to."""
        read = {self._aliases.root(value) for op in self._ops for value in _read_by(op)}
        return self.roots - read

    def groups_of(self, ops: Sequence[Op]) -> frozenset[Value]:
        """The groups of memory that `ops` have to do with."""
        inside = [*with_inner_ops(ops)]
        values = (v for op in inside for v in (*used_by(op), *op.results))
        return self.roots.intersection(map(self._aliases.root, values))

    def is_view(self, op: Op) -> bool:
        """Whether `op` is a view of stored memory."""
        is_torch = kind_of(op) == "torch" and schema_of(op.name).is_view
        return is_torch and bool(self.roots.intersection(map(self._aliases.root, op.results)))

    def held(self, root: Value, block: Block, is_cheap: Callable[[Op], bool]) -> range | None:
        """The places of the ops that one region has to hold; None if there is no such region.

        Those are the ops that make something of a group of memory that cannot be taken again, and
        those that use it.
        """
        if root not in self.roots:
            return None
        kept = {
            value
            for op in block.ops
            if not self._is_taken_again(op, is_cheap)
            for value in op.results
            if self._aliases.root(value) is root
        }
        used = [n for n, op in enumerate(block.ops) if kept.intersection(used_by(op))]
        if kept.intersection(values_in(block.outputs)):
            return None
        made = [n for n, op in enumerate(block.ops) if kept.intersection(op.results)]
        return range(min(made), max(used) + 1) if used else range(0)

    def _is_taken_again(self, op: Op, is_cheap: Callable[[Op], bool]) -> bool:
        return is_cheap(op) and self.is_view(op)


def written_inputs(program: Program) -> Mapping[Value, bool]:
    """The inputs of `program` that it writes to, and whether torch counts those writes."""
    aliases = Aliases(program)
    found: dict[Value, bool] = {}
    for op in ops_in(program.body):
        if is_off(op):
            continue
        roots = set(map(aliases.root, written_by(op)))
        is_counted = kind_of(op) == "torch" and schema_of(op.name).is_mutable
        for value in program.inputs:
            if aliases.root(value) in roots:
                found[value] = found.get(value, False) or is_counted
    return found


def written_stored(program: Program) -> frozenset[str]:
    """The names of the stored tensors that `program` writes to."""
    aliases = Aliases(program)
    return frozenset(one.name for one in program.stored if aliases.is_written(one.value))


def _read_by(op: Op) -> tuple[Value, ...]:
    """What a gradient may depend on; an op that updates statistics only writes to them."""
    given = operands_of(op)
    written = written_by(op) if kind_of(op) == "torch" and not is_off(op) else ()
    are_integers = all(isinstance(v.type, TensorType) and v.type.dtype in INTEGERS for v in written)
    if not written or not (are_integers or stem_of(op.name) == "batch_norm"):
        return (*given, *op.results)
    return tuple(value for value in given if value not in written)
