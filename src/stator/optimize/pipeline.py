"""optimize(): the passes, in order; then the program is verified."""

from __future__ import annotations

from collections.abc import Callable

from stator.optimize.fold import fold
from stator.optimize.prune import drop_unused_stored, prune
from stator.optimize.thread import thread
from stator.program.program import Program
from stator.program.verifier import verify

Pass = Callable[[Program], Program]
PASSES: tuple[Pass, ...] = (fold, thread, prune, drop_unused_stored)


def optimize(program: Program, passes: tuple[Pass, ...] = PASSES) -> Program:
    """A program that means the same; the one given stays as it is."""
    for one_pass in passes:
        program = one_pass(program)
    return verify(program)
