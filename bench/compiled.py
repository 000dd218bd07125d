"""Compiled regions next to eager, other compilers and the native runtime: one thread, one run.

The rows are those of `bench.native`, with a few on tensors that are large enough to be worth
compiling. A figure is the median over the rounds of eager's time over the contender's; contenders
alternate, and compiling is not part of it. `regions` is how many regions the program has: where
there is none, `inductor` is the native runtime.

    python -m bench.compiled [--rows TEXT] [--rounds N] [--without-compile]
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Mapping
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

import stator
from bench.native import calibrated, call, keep_pages, seconds
from bench.peers import peers
from bench.workloads import WORKLOADS, Workload, tiny_ops
from stator.optimize.regions import outline

ROUNDS = 9
COLUMNS = ("compile", "AOT", "ONNX", "native", "inductor")


def normalized(x: Tensor, weight: Tensor) -> Tensor:
    """A normalization, an activation and a residual, as people write them."""
    mean = x.mean(-1, keepdim=True)
    scaled = (x - mean) / (x.var(-1, keepdim=True) + 1e-5).sqrt() * weight
    return torch.sigmoid(scaled * 1.702) * scaled + x


def until_small(x: Tensor, weight: Tensor) -> Tensor:
    """The same in a loop that ends by a value."""
    while x.abs().mean() > 0.4:
        x = normalized(x, weight) * 0.5 - x.tanh() * 0.1
    return x


def workloads() -> tuple[Workload, ...]:
    """The rows."""

    def rows(*size: int) -> Callable[[], tuple[Tensor, ...]]:
        return lambda: (torch.randn(*size), torch.randn(size[-1]))

    larger = (
        Workload("60 pointwise ops on 4096", lambda: tiny_ops,
                 lambda: (torch.randn(4096), torch.randn(4096)), 1),
        Workload("normalization, 64 x 512", lambda: normalized, rows(64, 512), 1),
        Workload("the same in a while", lambda: until_small, rows(64, 512), 1),
        Workload("normalization, training", lambda: normalized, rows(64, 512), 1, True),
    )  # fmt: skip
    return (*larger, *WORKLOADS)


def contenders(workload: Workload, *, compiles: bool) -> dict[str, Callable[..., object]]:
    """The workload in each way that runs it, each over a module of its own."""

    def fresh() -> Callable[..., object]:
        torch.manual_seed(0)
        function = workload.make()
        return function.train(workload.trains) if isinstance(function, nn.Module) else function

    made: dict[str, Callable[..., object]] = {"eager": fresh()}
    if compiles:
        made["compile"] = torch.compile(fresh())
        made |= peers(workload, fresh)
    made["native"] = stator.to_static(fresh())
    made["inductor"] = stator.to_static(fresh(), backend="inductor")
    return made


def ratios(workload: Workload, rounds: int, *, compiles: bool) -> tuple[float, Mapping[str, Any]]:
    """Eager's time for one call, how many times faster each contender is, and the regions."""
    made = contenders(workload, compiles=compiles)
    calls = {name: call(workload, function) for name, function in made.items()}
    mode = torch.enable_grad if workload.trains else torch.no_grad
    with mode():
        for _ in range(3):
            calls["inductor"]()
            stator.compiled(wait=True)
        counts = {name: calibrated(each) for name, each in calls.items()}
        taken: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(rounds):
            for name, each in calls.items():
                taken[name].append(seconds(each, counts[name]))
    faster: dict[str, Any] = {
        name: statistics.median(e / t for e, t in zip(taken["eager"], times, strict=True))
        for name, times in taken.items()
    }
    static: Any = made["inductor"]
    program = getattr(static, "forward", static).concrete_programs[0].program
    return statistics.median(taken["eager"]), {**faster, "regions": len(outline(program).regions)}


def speed_table(wanted: str, rounds: int, *, compiles: bool) -> Table:
    """How many times faster than eager each contender is."""
    table = Table("work", title="times as fast as eager, one thread")
    for name in ("eager", *COLUMNS, "regions"):
        table.add_column(name, justify="right")
    for workload in workloads():
        if wanted in workload.name:
            eager, found = ratios(workload, rounds, compiles=compiles)
            cells = [f"{found[name]:.2f}" if name in found else "-" for name in COLUMNS]
            table.add_row(workload.name, f"{1e6 * eager:.1f} µs", *cells, str(found["regions"]))
    return table


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="How fast compiled regions are.")
    parser.add_argument("--rows", default="", help="only the rows whose names contain this")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--without-compile", action="store_true", help="leave out other compilers")
    given = parser.parse_args()
    torch.set_num_threads(1)
    keep_pages()
    table = speed_table(given.rows, given.rounds, compiles=not given.without_compile)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
