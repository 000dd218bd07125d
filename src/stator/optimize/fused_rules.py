"""The rules of fused code inside a CUDA graph: which ops of a graph are compiled together.

They are those of compiled code (`region_rules`), but a graph has no overhead for each call, and no
gradients: two ops that become one kernel are worth it, however small, and so is a matrix product,
because a compiler may have a better kernel for it. Numbers that a device holds stay outside, and
those that change in a loop: code is compiled for fixed ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from stator.optimize.alias import Aliases
from stator.optimize.counted_loops import varying_numbers
from stator.optimize.device_numbers import number_facts
from stator.optimize.region_rules import CompiledRules, family_of
from stator.program.ir import Block, Op, Value, operands_of
from stator.program.program import Program
from stator.program.types import NumberType

LEAST_FUSED = 2
ON_DEVICE = "takes a number that only the device knows, or that changes in a loop"


class FusedRules(CompiledRules):
    """The rules of fused code, for the program of one graph."""

    is_observing = False

    def __init__(self, program: Program, aliases: Aliases) -> None:
        super().__init__(program, aliases)
        self._facts, self._varying = number_facts(program), varying_numbers(program)

    def reasons(self, block: Block) -> list[str]:
        """For each op of `block`: why it is not compiled."""
        found = super().reasons(block)
        return [
            ON_DEVICE if self._takes_number(op) else why
            for op, why in zip(block.ops, found, strict=True)
        ]

    def is_worth(self, ops: Sequence[Op]) -> bool:
        """Whether compiling saves a kernel, or may find a better one."""
        families = [family_of(op) for op in ops]
        return families.count("fused") >= LEAST_FUSED or "matrix" in families

    def _takes_number(self, op: Op) -> bool:
        given = operands_of(op)
        return any(map(self._is_on_device, given))

    def _is_on_device(self, value: Value) -> bool:
        if not isinstance(value.type, NumberType):
            return False
        is_known = value in self._facts
        return value in self._varying or (is_known and self._facts[value].on_device)
