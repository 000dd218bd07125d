"""The native runtime next to eager, `torch.jit.script` and the interpreter: one thread, one run.

Contenders alternate, round by round; a figure is the median over the rounds of eager's time in
that round over the contender's, so what disturbs the machine disturbs both. The time is that of the
processor. `alone` is the native program without the entry: no guards, flat inputs and outputs.

    python -m bench.native [--rows TEXT] [--rounds N]
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

import stator
from bench.workloads import WORKLOADS, Workload
from stator.extension import extension
from stator.native.backend import native

ROUNDS = 15
COLUMNS = ("script", "interpreter", "alone")
SECONDS = 0.02  # of each contender, in each round
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of mallopt(3)


def keep_pages() -> None:
    """Memory that is freed stays with the process, so page faults do not hide what is measured."""
    libc = ctypes.CDLL(None)
    for setting in (M_TRIM_THRESHOLD, M_MMAP_THRESHOLD):
        libc.mallopt(setting, 1 << 30)


def scripted(function: Callable[..., object]) -> Callable[..., object] | None:
    """The function by torch.jit.script; None if it does not take it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return torch.jit.script(function)
        except Exception:  # noqa: BLE001  # whatever it raises, the cell stays empty
            return None


def contenders(workload: Workload) -> dict[str, Callable[..., object]]:
    """The workload in each way that runs it, each over a module of its own."""

    def fresh() -> Callable[..., object]:
        torch.manual_seed(0)
        function = workload.make()
        return function.train(workload.trains) if isinstance(function, nn.Module) else function

    made: dict[str, Callable[..., object]] = {"eager": fresh()}
    if workload.scripts and (script := scripted(fresh())):
        made["script"] = script
    made["interpreter"] = stator.to_static(fresh(), backend="interpreter")
    if extension() is not None:
        made["native"] = stator.to_static(fresh(), backend="native")
        made["alone"] = program_alone(made["native"], workload.inputs())
    return made


@dataclass(frozen=True)
class ProgramAlone:
    """A program over its tensors."""

    run: Callable[[Sequence[Tensor]], object]
    stored: list[Tensor]

    def parameters(self) -> list[Tensor]:
        """What gets gradients."""
        return [tensor for tensor in self.stored if tensor.requires_grad]

    def __call__(self, *inputs: Tensor) -> object:
        """The flat outputs."""
        return self.run(inputs)


def program_alone(static: Any, inputs: tuple[Tensor, ...]) -> ProgramAlone:
    """The native program of a converted function: what is left without the entry."""
    with torch.no_grad():
        static(*inputs)
    concrete = getattr(static, "forward", static).concrete_programs[0]
    backend = native()
    assert backend is not None
    run = backend.prepare(concrete.program).bind(concrete.captured.tensors)

    return ProgramAlone(run, list(concrete.captured.tensors.values()))


def call(workload: Workload, function: Callable[..., object]) -> Callable[[], object]:
    """One call, or one training step without the optimizer."""
    torch.manual_seed(0)
    inputs = workload.inputs()
    if not workload.trains:
        return lambda: function(*inputs)
    inputs[0].requires_grad_()
    parameters = list(getattr(function, "parameters", list)())

    def step() -> None:
        for tensor in (inputs[0], *parameters):
            tensor.grad = None
        result = function(*inputs)
        first = result[0] if isinstance(result, tuple) else result
        assert isinstance(first, Tensor)
        first.sum().backward()

    return step


def ratios(workload: Workload, rounds: int) -> tuple[float, Mapping[str, float]]:
    """Eager's time for one call, and how many times faster each contender is."""
    torch.manual_seed(0)
    made = contenders(workload)
    calls = {name: call(workload, function) for name, function in made.items()}
    mode = torch.enable_grad if workload.trains else torch.no_grad
    with mode():
        counts = {name: calibrated(one) for name, one in calls.items()}
        taken: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(rounds):
            for name, one in calls.items():
                taken[name].append(seconds(one, counts[name]))
    faster = {
        name: statistics.median(e / t for e, t in zip(taken["eager"], times, strict=True))
        for name, times in taken.items()
    }
    return statistics.median(taken["eager"]), faster


def calibrated(function: Callable[[], object]) -> int:
    """How many calls take about SECONDS, after a few that are not counted."""
    for _ in range(4):
        function()
    return max(1, int(SECONDS / seconds(function, 2)))


def seconds(function: Callable[[], object], count: int) -> float:
    """Of one call."""
    began = time.process_time()
    for _ in range(count):
        function()
    return (time.process_time() - began) / count


def speed_table(wanted: str = "", rounds: int = ROUNDS) -> Table:
    """How many times faster than eager each contender is."""
    table = Table("work", title="times as fast as eager, one thread")
    for name in ("eager", "script", "interpreter", "alone", "native", "asked for"):
        table.add_column(name, justify="right")
    for workload in WORKLOADS:
        if wanted not in workload.name:
            continue
        eager, faster = ratios(workload, rounds)
        cells = [f"{faster[k]:.2f}" if k in faster else "-" for k in COLUMNS]
        native = faster.get("native")
        shown = "-" if native is None else f"{native:.2f}"
        if native is not None and native < workload.target:
            shown = f"[red]{shown}[/red]"
        table.add_row(workload.name, f"{1e6 * eager:.1f} µs", *cells, shown, f"{workload.target}")
    return table


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="How fast the native runtime is.")
    parser.add_argument("--rows", default="", help="only the rows whose names contain this")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    keep_pages()
    Console(width=110).print(speed_table(given.rows, given.rounds))


if __name__ == "__main__":
    main()
