"""Program: what a capture gives and every later stage reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from stator.notebook import preformatted
from stator.program.ir import (
    Arg,
    Block,
    InputFacts,
    Op,
    StateUse,
    StoredTensor,
    Value,
    operands_of,
    values_in,
    with_inner_ops,
)
from stator.program.printer import print_program
from stator.program.structure import Structure


@dataclass(eq=False, slots=True)
class Program:
    """A function of tensors and numbers; `inputs` are the leaves of a call's arguments, in order.

    If a model keeps state, its program has further inputs and outputs at the end: the state before
    the run and the state after it, in the order of `state`.
    """

    name: str
    inputs: tuple[Value, ...]
    stored: tuple[StoredTensor, ...]
    body: Block
    input_structure: Structure
    output_structure: Structure  # its leaves are positions in `body.outputs`
    functions: dict[str, Block] = field(default_factory=dict)
    input_facts: dict[Value, InputFacts] = field(default_factory=dict)  # of some of `inputs`
    state: tuple[StateUse, ...] = ()

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The body, and the bodies of the functions that it calls."""
        return (self.body, *self.functions.values())

    def ops(self) -> Iterator[Op]:
        """Every op, those of inner blocks and of functions included."""
        return with_inner_ops(op for block in self.blocks for op in block.ops)

    def with_blocks(self, change: Callable[[Block], Block]) -> Program:
        """The program that has `change(block)` for the body and for each function."""
        functions = {name: change(block) for name, block in self.functions.items()}
        return replace(self, body=change(self.body), functions=functions)

    def values(self) -> Iterator[Value]:
        """Every value: the inputs, what is stored, and what blocks receive and ops make."""
        yield from self.inputs
        yield from (stored.value for stored in self.stored)
        for function in self.functions.values():
            yield from function.inputs
        for op in self.ops():
            yield from op.results
            for inner in op.blocks:
                yield from inner.inputs

    def used_values(self, uses: Callable[[Op], bool] = lambda _: True) -> set[Value]:
        """The values that an op for which `uses` holds takes, or that a block gives."""
        used = {value for block in self.blocks for value in values_in(block.outputs)}
        for op in self.ops():
            if uses(op):
                used.update(operands_of(op))
            used.update(value for inner in op.blocks for value in values_in(inner.outputs))
        return used

    @property
    def state_count(self) -> int:
        """How many of the last inputs, and of the last outputs, are state."""
        return sum(use.count for use in self.state)

    @property
    def call_inputs(self) -> tuple[Value, ...]:
        """The inputs that a call gives."""
        return self.inputs[: len(self.inputs) - self.state_count]

    @property
    def state_inputs(self) -> tuple[Value, ...]:
        """What the state is before a run."""
        return self.inputs[len(self.inputs) - self.state_count :]

    @property
    def call_outputs(self) -> tuple[Arg, ...]:
        """What a call gives."""
        return self.body.outputs[: len(self.body.outputs) - self.state_count]

    @property
    def state_outputs(self) -> tuple[Arg, ...]:
        """What the state is after a run."""
        return self.body.outputs[len(self.body.outputs) - self.state_count :]

    def __str__(self) -> str:
        return print_program(self)

    def __repr__(self) -> str:
        inputs = ", ".join(f"{value.name}: {value.type}" for value in self.inputs)
        count = len(self.body.ops)
        ops = "1 op" if count == 1 else f"{count} ops"
        return f"<Program {self.name}({inputs}), {ops} at its top level>"

    def _repr_html_(self) -> str:
        return preformatted(str(self))
