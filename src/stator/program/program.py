"""Program: what a capture gives and every later stage reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from stator.notebook import preformatted
from stator.program.ir import Block, InputFacts, StoredTensor, Value
from stator.program.printer import print_program
from stator.program.structure import Structure


@dataclass(eq=False, slots=True)
class Program:
    """A function of tensors and numbers; `inputs` are a call's leaves, in order."""

    name: str
    inputs: tuple[Value, ...]
    stored: tuple[StoredTensor, ...]
    body: Block
    input_structure: Structure
    output_structure: Structure  # its leaves are positions in `body.outputs`
    functions: dict[str, Block] = field(default_factory=dict)
    input_facts: dict[Value, InputFacts] = field(default_factory=dict)  # of some of `inputs`

    def __str__(self) -> str:
        return print_program(self)

    def __repr__(self) -> str:
        inputs = ", ".join(f"{value.name}: {value.type}" for value in self.inputs)
        return f"<Program {self.name}({inputs}), {len(self.body.ops)} ops at its top level>"

    def _repr_html_(self) -> str:
        return preformatted(str(self))
