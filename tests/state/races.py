"""Calls while other threads change what guards and snapshots read: the process must live.

    python -m tests.state.races --changes 5000

Snapshots read the memory of tensors, dicts and modules directly. Threads replace parameters and
tensors, set flags and attributes, and write in place; another thread calls all the time. A call
beside a change may see either state, and after the last change it gives what eager code gives.

NOTE: nothing sets `.data`: it frees memory that another thread may be writing, without Stator too.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import threading
from dataclasses import dataclass, field

import torch

import stator

WRITERS = 2


class Net(torch.nn.Module):
    """Layers, a number and a mask that are set while they are read."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(6))
        self.mask = torch.ones(4)
        self.scale = 1.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Every layer, and the mask."""
        for layer in self.layers:
            x = layer(x) * self.scale
        return x * self.mask if x.sum() > 0 else x


@dataclass
class RaceReport:
    """What a run found."""

    calls: int = 0
    errors: list[str] = field(default_factory=list)
    is_right: bool = False


def change(net: Net, rng: random.Random) -> None:
    """One change of something that a call reads."""
    layer = rng.choice([*net.layers])
    match rng.randrange(7):
        case 0:
            layer.weight.requires_grad_(rng.random() < 0.5)
        case 1:
            layer.weight = torch.nn.Parameter(torch.rand(4, 4))
        case 2:
            layer.bias = torch.nn.Parameter(torch.rand(4))
        case 3:
            net.mask = torch.rand(4)
        case 4:
            with torch.no_grad():
                layer.weight.copy_(torch.rand(4, 4))
        case 5:
            layer.note = rng.random()  # a dict that is watched grows
        case 6:
            gc.collect(0)


def race(changes: int, seed: int) -> RaceReport:
    """Call while each of `WRITERS` threads makes `changes` changes."""
    torch.set_num_threads(1)
    net, x, report, done = Net(), torch.ones(2, 4), RaceReport(), threading.Event()
    static = stator.to_static(net)
    static(x)

    def call() -> None:
        while not done.is_set():
            report.calls += 1
            try:
                static(x)
            except Exception as error:  # noqa: BLE001  # it is what the run looks for
                report.errors.append(repr(error))

    def write(own_seed: int) -> None:
        rng = random.Random(own_seed)
        for _ in range(changes):
            change(net, rng)

    caller = threading.Thread(target=call)
    writers = [threading.Thread(target=write, args=(seed + k,)) for k in range(WRITERS)]
    for thread in (caller, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    caller.join()
    report.is_right = torch.equal(static(x), Net.forward(net, x))
    return report


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--changes", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    report = race(given.changes, given.seed)
    print(f"{report.calls} calls, {len(report.errors)} errors, right at the end: {report.is_right}")
    print(*report.errors[:5], sep="\n")
    return int(bool(report.errors) or not report.is_right)


if __name__ == "__main__":
    sys.exit(main())
