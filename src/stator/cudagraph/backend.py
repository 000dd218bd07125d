"""The backend `cudagraph`: regions recorded as CUDA graphs, everything else run by another backend.

The first call of a layout runs as without graphs; the second records, and from then on the graphs
are replayed. A region that cannot be recorded is left out, after a warning that has its line.
Calls whose gradients are recorded have regions of their own, by rules of their own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch

from stator.cudagraph.cuda import CudaTarget, why_not_here
from stator.cudagraph.fusing import Compile, GraphFusion
from stator.cudagraph.memory import memory_of
from stator.cudagraph.region import GraphRegion
from stator.cudagraph.target import GraphTarget
from stator.execute.backend import DEFAULT_OPTIONS, Capability, Executable, Outcome, Run, RunOptions
from stator.inductor.compiling import compile_fixed
from stator.inductor.queue import QUEUE
from stator.optimize.alias import Aliases
from stator.optimize.attention_masks import attention_masks
from stator.optimize.fused_rules import FusedRules
from stator.optimize.graph_rules import GraphRules
from stator.optimize.regions import RulesOf, observed_in, outline
from stator.optimize.selects import selects
from stator.optimize.stored_writes import written_stored
from stator.optimize.training_rules import TrainingGraphRules
from stator.program.ir import Op, values_in
from stator.program.program import Program
from stator.regions.calls import region_program
from stator.regions.region import Ops
from stator.regions.running import Later, RegionExecutable, RegionProgram, prepared_elsewhere
from stator.torch_private.triton import has_triton

NAME = "cudagraph"


@functools.cache
def _cuda_target(device: torch.device) -> GraphTarget:
    index = device.index if device.index is not None else torch.cuda.current_device()
    return CudaTarget(index)


@dataclass(frozen=True)
class GraphBackend:
    """Runs programs with graphs in them."""

    rules: RulesOf = GraphRules
    training_rules: RulesOf = TrainingGraphRules
    target_of: Callable[[torch.device], GraphTarget] = _cuda_target
    fuses: Callable[[], bool] = has_triton
    compile: Compile = compile_fixed
    enqueue: Later = QUEUE.add  # has code compiled
    name: str = NAME
    capabilities: frozenset[Capability] = frozenset(
        {Capability.PENDING_EFFECTS, Capability.GRADIENTS, Capability.HOST_CALLBACKS}
    )

    def refusal(self, _program: Program) -> str:
        """Nothing is refused: what is in no graph runs elsewhere."""
        return ""

    def prepare(self, program: Program, options: RunOptions = DEFAULT_OPTIONS) -> Executable:
        """`program` with its graphs, for calls without gradients and for those with them."""
        return GraphExecutable(
            self._prepared(program, options, self.rules),
            functools.cache(
                lambda: self._prepared(program, options, self.training_rules, gradients=True)
            ),
            functools.cache(lambda: prepared_elsewhere(program, options)),
            written_stored(program),
        )

    def _prepared(
        self, program: Program, options: RunOptions, rules: RulesOf, *, gradients: bool = False
    ) -> Executable:
        """`program` with the graphs that `rules` allow; as it is, if there are none."""
        outlined = outline(program, rules)
        if not outlined.regions:
            return prepared_elsewhere(program, options)
        stored = frozenset(item.value for item in program.stored)
        aliases = Aliases(outlined.program)
        is_observed = aliases.in_groups_of(observed_in(outlined.program))

        def make(op: Op, ops: Ops, _later: Later) -> GraphRegion:
            alone = region_program(op, program.name)
            visible = [
                is_observed(value)
                and any(aliases.share(value, o) for o in (*alone.inputs, *op.results) if o != value)
                for value in op.results
            ]
            fuses = options.fuses and self.fuses() and not gradients
            fusion = self._fusion(alone, visible) if fuses else None
            return GraphRegion(
                op, ops, alone, stored, visible, self.target_of, fusion, self.enqueue, gradients
            )

        return RegionExecutable(
            RegionProgram(outlined, options, make, lambda job: job(), how="without a graph")
        )

    def _fusion(self, region: Program, visible: Sequence[bool]) -> GraphFusion | None:
        """What of a region is compiled; None if nothing is."""
        seen = [v for v, can in zip(region.body.outputs, visible, strict=True) if can]
        is_kept = Aliases(region).in_groups_of(values_in(tuple(seen)))
        outlined = outline(attention_masks(selects(region, is_kept)), FusedRules)
        return GraphFusion(outlined.program, self.compile) if outlined.regions else None


@dataclass(frozen=True)
class GraphExecutable:
    """A program with graphs, ready to be bound."""

    inference: Executable
    training: Callable[[], Executable]
    plain: Callable[[], Executable]  # without graphs
    written: frozenset[str]  # the stored tensors that the program writes to

    def bind(self, stored: Mapping[str, torch.Tensor]) -> Run:
        """The program over these tensors; without graphs, if it writes to one that is two."""
        written = {memory_of(one) for name, one in stored.items() if name in self.written}
        count = sum(memory_of(one) in written for one in stored.values())
        if count > len(written):
            return self.plain().bind(stored)
        return GraphRun(
            self.inference.bind(stored),
            functools.cache(lambda: self.training().bind(stored)),
            functools.cache(lambda: self.plain().bind(stored)),
            tuple(stored.values()),
            tuple(one for name, one in stored.items() if name in self.written),
        )


@dataclass(frozen=True)
class GraphRun:
    """A program with graphs over its tensors."""

    inference: Run
    training: Callable[[], Run]
    plain: Callable[[], Run]
    stored: tuple[torch.Tensor, ...]
    written: tuple[torch.Tensor, ...]

    def __call__(self, inputs: Sequence[object]) -> Outcome:
        """Run it, by the graphs for calls with gradients if any can be recorded.

        An argument that is a stored tensor, which the program writes to, is seen by no graph.
        """
        if self.written and not _memories(inputs).isdisjoint(map(memory_of, self.written)):
            return self.plain()(inputs)
        if torch.is_grad_enabled() and any(map(_requires_grad, (*self.stored, *inputs))):
            return self.training()(inputs)
        return self.inference(inputs)


def _memories(values: Iterable[object]) -> set[int]:
    found: set[int] = set()
    for value in values:
        if isinstance(value, torch.Tensor):
            found.add(memory_of(value))
        elif isinstance(value, list | tuple):
            found |= _memories(value)
    return found


def _requires_grad(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_requires_grad, value))
    return isinstance(value, torch.Tensor) and value.requires_grad


@functools.cache
def cudagraph() -> GraphBackend | None:
    """The backend; None where CUDA has no graphs with conditions."""
    return None if why_not_here() else GraphBackend()
