"""Loading a model of 100 MB next to reading its weights with safetensors: time and memory.

Contenders alternate, each in a process of its own, the file in the system's cache; medians. What
safetensors gives is a map of the file that it has not read yet, so the weights are then summed:
times are given without and with that. `stator.load` checks the digest of every byte before it
gives a model, with as many threads as the machine has processors, up to four. Memory is the most
that was resident at once, mapped files included.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

import stator
from stator import InputSpec

ROUNDS = 7
WIDTH, LAYERS = 2048, 6  # 100.7 MB
ALLOWED_FACTOR, ALLOWED_MILLISECONDS, ALLOWED_MEMORY = 1.2, 50.0, 1.1

CHILD = """
import json, sys, time
import safetensors.torch, torch, stator
def resident(name):
    lines = open("/proc/self/status").read().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))
path, contender = sys.argv[1:]
torch.set_num_threads(1)
torch.ones(10).sum()
open("/proc/self/clear_refs", "w").write("5")  # forget the most that was resident so far
before, start = resident("VmRSS"), time.perf_counter()
if contender == "stator":
    tensors = list(stator.load(path).state_dict().values())
else:
    tensors = list(safetensors.torch.load_file(path + ".safetensors").values())
loaded = time.perf_counter() - start
for tensor in tensors:
    tensor.sum()
read = time.perf_counter() - start
print(json.dumps([1e3 * loaded, 1e3 * read, resident("VmHWM") - before]))
"""


def measure(path: Path, contender: str) -> list[float]:
    """Milliseconds to load, milliseconds to load and sum, bytes of memory."""
    command = [sys.executable, "-c", CHILD, str(path), contender]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    numbers: list[float] = json.loads(done.stdout)
    return numbers


def medians(path: Path) -> dict[str, list[float]]:
    """The median of each measure, for each contender; the first round is not counted."""
    taken: dict[str, list[list[float]]] = {"safetensors": [], "stator": []}
    for counted in (False, *(True,) * ROUNDS):
        for contender, rounds in taken.items():
            numbers = measure(path, contender)
            if counted:
                rounds.append(numbers)
    return {
        contender: [statistics.median(column) for column in zip(*rounds, strict=True)]
        for contender, rounds in taken.items()
    }


def table_of(found: dict[str, list[float]], size: int) -> Table:
    """Both contenders, and what is asked of Stator."""
    table = Table(
        "", "load", "load and sum", "memory, in weights", title=f"loading {size / 1e6:.1f} MB"
    )
    for contender, (loaded, summed, memory) in found.items():
        cells = f"{loaded:.1f} ms", f"{summed:.1f} ms", f"{memory / size:.2f}"
        table.add_row(contender, *cells)
    limits = [
        f"{ALLOWED_FACTOR * milliseconds + ALLOWED_MILLISECONDS:.1f} ms"
        for milliseconds in found["safetensors"][:2]
    ]
    table.add_row("allowed", *limits, f"{ALLOWED_MEMORY:.2f}")
    ratios = [
        found["stator"][k] / (ALLOWED_FACTOR * found["safetensors"][k] + ALLOWED_MILLISECONDS)
        for k in (0, 1)
    ]
    memory = found["stator"][2] / size / ALLOWED_MEMORY
    table.add_row("of what is allowed", *(f"{ratio:.2f}" for ratio in ratios), f"{memory:.2f}")
    return table


def main() -> None:
    """Save the model, and print the table."""
    layers = [torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        stator.save(torch.nn.Sequential(*layers).eval(), path, [InputSpec([None, WIDTH])])
        size = path.with_suffix(".safetensors").stat().st_size
        Console().print(table_of(medians(path), size))


if __name__ == "__main__":
    main()
