"""Sizes of a program's inputs that its size checks want to be equal.

torch.export traces with example inputs, and takes two dynamic sizes to be different unless it is
told otherwise: the examples have equal sizes where the program needs them, and the graph says so.
"""

from __future__ import annotations

from collections.abc import Mapping

from stator.program.ir import Arg, Op, Value
from stator.program.program import Program

Place = tuple[Value, int]  # an input, and one of its dimensions


def equal_sizes(program: Program) -> list[tuple[Place, Place]]:
    """The pairs, from the checks that each run makes."""
    makers = {result: op for op in program.body.ops for result in op.results}
    found = []
    for op in program.body.ops:
        holds = op.args[0] if op.name == "stator::demand" else None
        test = makers.get(holds) if isinstance(holds, Value) else None
        if test is None or test.name != "stator::eq":
            continue
        one, other = (_place(arg, makers, program) for arg in test.args)
        if one is not None and other is not None:
            found.append((one, other))
    return found


def _place(arg: Arg, makers: Mapping[Value, Op], program: Program) -> Place | None:
    maker = makers.get(arg) if isinstance(arg, Value) else None
    if maker is None or maker.name != "aten::sym_size.int":
        return None
    tensor, dim = maker.args
    if not isinstance(tensor, Value) or tensor not in program.inputs or not isinstance(dim, int):
        return None
    return tensor, dim
