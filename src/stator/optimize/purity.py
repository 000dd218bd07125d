"""is_pure(): does an op give the same, and do nothing else, each time it has the same arguments?"""

from __future__ import annotations

import torch

from stator.optimize.memory import STATISTICS
from stator.program.ir import Op
from stator.program.numbers import NUMBER_FUNCTIONS
from stator.program.registry import resolve

UNINITIALIZED = ("aten::empty", "aten::new_empty", "aten::_empty", "aten::resize")


def is_pure(op: Op) -> bool:
    """Whether `op` writes nothing, draws no random number, and reads nothing but its arguments.

    What its arguments hold may still change between two ops: `Memory.is_written` tells.
    """
    if op.name in NUMBER_FUNCTIONS:
        return True
    if op.blocks or not op.results or not op.name.startswith("aten::"):
        return False  # what an op that is not torch's own does, nobody has promised
    if op.name.startswith(UNINITIALIZED):
        return False
    found = resolve(op.name)
    schema = found._schema
    return not (
        schema.is_mutable
        or torch.Tag.nondeterministic_seeded in found.tags
        or any(argument.name in STATISTICS for argument in schema.arguments)
    )
