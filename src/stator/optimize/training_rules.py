"""The rules of CUDA graphs where gradients are recorded.

They are those of graphs without gradients (`graph_rules`), with three more:

- no branch or loop that the device decides: autograd has to know the path, so the host decides, and
  the blocks have graphs of their own; loops that the host can count are in graphs;
- nothing is written in place, since what autograd saves must be as it was; but for statistics that
  nothing else reads, such as those of batch normalization;
- a run ends where its own observed results are used, as for compiled code (`regions`).
"""

from __future__ import annotations

from stator.optimize.graph_rules import WRITTEN, GraphRules
from stator.program.ir import Block, Op


class TrainingGraphRules(GraphRules):
    """The rules of CUDA graphs with gradients, for one program."""

    is_observing = True

    def reasons(self, block: Block) -> list[str]:
        """For each op of `block`: why it cannot be in a graph."""
        found = super().reasons(block)
        return [
            why or (WRITTEN if self._written_in(op) - self._stored.statistics else "")
            for op, why in zip(block.ops, found, strict=True)
        ]

    def _why_not_blocks(self, op: Op, *, is_inside: bool = False) -> str:
        if not self._is_counted(op):
            return "chooses a path that gradients have to follow"
        return super()._why_not_blocks(op, is_inside=is_inside)
