"""What a call costs before the program runs: next to torch's own tools, and for a large model.

Contenders alternate, round by round; each figure is the median over the rounds. On a busy machine
the time of the processor says more than that of the clock.
"""

from __future__ import annotations

import statistics
import time
import timeit
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from rich.table import Table
from torch import Tensor, nn

import stator
from stator.state.snapshot import Snapshot

ROUNDS = 15
CALLS = 2000
MODULES = 100


def identity(x: Tensor) -> Tensor:
    """What is given; a call of its program costs nothing but the call."""
    return x


def scripted_identity() -> Callable[[Tensor], Tensor]:
    """The identity by torch.jit.script, whose deprecation is known here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return torch.jit.script(identity)


def medians(
    contenders: Mapping[str, Callable[[], object]],
    timer: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Seconds for one call of each, after a round that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for counted in (False, *(True,) * ROUNDS):
        for name, call in contenders.items():
            seconds = timeit.timeit(call, timer=timer, number=CALLS) / CALLS
            if counted:
                times[name].append(seconds)
    return {name: statistics.median(taken) for name, taken in times.items()}


def call_table() -> Table:
    """The cost of one call of a captured identity."""
    x = torch.randn(2, 3)
    taken = medians({
        "eager": partial(identity, x),
        "stator": partial(stator.to_static(identity), x),
        "torch.jit.script": partial(scripted_identity(), x),
        "torch.compile": partial(torch.compile(identity), x),
    })  # fmt: skip
    table = Table("tool", title="one call of a captured identity")
    table.add_column("time", justify="right")
    table.add_column("of torch.compile's", justify="right")
    for name, seconds in taken.items():
        table.add_row(name, micro(seconds), f"{seconds / taken['torch.compile']:.2f}")
    return table


class Block(nn.Module):
    """Four modules of torch's, or of a user's, with attributes of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.linear, self.dropout = nn.LayerNorm(4), nn.Linear(4, 4), nn.Dropout(0.1)
        self.scale, self.name = 0.5, "block"

    def forward(self, x: Tensor) -> Tensor:
        """A residual step."""
        return x + self.scale * self.dropout(torch.relu(self.linear(self.norm(x))))


def guard_table() -> Table:
    """The cost of finding that nothing has changed in a model of a hundred modules."""
    model = nn.Sequential(*(Block() for _ in range(MODULES // 4)))
    static: Any = stator.to_static(model)
    x = torch.randn(2, 4)
    static(x)
    guards = static.forward.concrete_programs[0].captured.guards
    tensors = [read for read in guards.reads if read.tensor is not None]
    checks = {
        "everything": guards.hold,
        f"of that, {len(tensors)} stored tensors": Snapshot(tensors, {}).is_valid,
        "everything, without the extension": lambda: guards.changed() is None,
    }
    wall, processor = medians(checks), medians(checks, time.process_time)
    title = f"checking a model of {len(list(model.modules()))} modules before a call"
    table = Table("what", title=title)
    for name in ("time", "processor time"):
        table.add_column(name, justify="right")
    for name in checks:
        table.add_row(name, micro(wall[name]), micro(processor[name]))
    return table


def micro(seconds: float) -> str:
    """`1.5 µs`."""
    return f"{1e6 * seconds:.1f} µs"
