"""The backend `inductor`: regions compiled, and everything else run by another backend.

The first call goes through the regions, which ask for code for the layouts that they meet. While
that is compiled, calls run the program without regions. Then they go through the regions again; a
region that cannot be compiled is left out, after a warning that has its line.
"""

from __future__ import annotations

from dataclasses import dataclass

from stator.execute.backend import DEFAULT_OPTIONS, Capability, Executable, RunOptions
from stator.inductor.layouts import RegionLayout
from stator.inductor.queue import QUEUE
from stator.inductor.region import CompiledRegion
from stator.optimize.regions import outline
from stator.program.ir import Op
from stator.program.program import Program
from stator.regions.region import Ops
from stator.regions.running import Later, RegionExecutable, RegionProgram, prepared_elsewhere

NAME = "inductor"


def _region(op: Op, ops: Ops, later: Later) -> CompiledRegion:
    """A region whose code is compiled when `later` gets to it."""

    def request(region: CompiledRegion, layout: RegionLayout) -> None:
        later(lambda: region.compile_for(layout))

    return CompiledRegion(op, ops, request)


@dataclass(frozen=True)
class InductorBackend:
    """Runs programs with compiled regions."""

    name: str = NAME
    capabilities: frozenset[Capability] = frozenset(
        {Capability.PENDING_EFFECTS, Capability.GRADIENTS, Capability.HOST_CALLBACKS}
    )

    def refusal(self, _program: Program) -> str:
        """Nothing is refused: what is not compiled runs elsewhere."""
        return ""

    def prepare(self, program: Program, options: RunOptions = DEFAULT_OPTIONS) -> Executable:
        """`program` with its regions; as it is, if none is worth compiling."""
        outlined = outline(program)
        if not outlined.regions or not options.fuses:
            return prepared_elsewhere(program, options)
        return RegionExecutable(
            RegionProgram(outlined, options, _region, QUEUE.add, how="uncompiled")
        )


INDUCTOR = InductorBackend()
