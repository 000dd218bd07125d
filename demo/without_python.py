"""Where Python ends: the saved model by `stator-run`, and the time of a call by each tool."""

from __future__ import annotations

import re
import statistics
import subprocess
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from stator.extension import command

ROUNDS = 15
CALLS = 20
REPEATED = 200  # calls by the command
TOOLS = ("eager", "torch.jit.script", "Stator", "stator-run")


@dataclass(frozen=True)
class ByCommand:
    """What `stator-run` gave, in a process without Python."""

    logits: Tensor
    seconds: float  # of the whole process
    microseconds: float  # of one call


def run_by_command(folder: Path, name: str, x: Tensor) -> ByCommand | None:
    """The model FOLDER/NAME on `x`; None where the native runtime is not built."""
    program = command()
    if program is None:
        return None
    inputs, outputs = folder / "in.safetensors", folder / f"{name}.by_command.safetensors"
    save_file({"x": x}, inputs)
    words = [program, folder / name, "--inputs", inputs, "--outputs", outputs, "--threads", "1"]
    started = time.perf_counter()
    subprocess.run(list(map(str, words)), check=True)
    seconds = time.perf_counter() - started
    # copied: the file is mapped, and the next runs write it again
    (logits,) = [one.clone() for one in load_file(outputs).values() if one.dim() == 2]
    return ByCommand(logits, seconds, _time_of_a_call(words, x[:1], inputs))


def _time_of_a_call(words: list[object], row: Tensor, inputs: Path) -> float:
    """The median over many calls in one process, for one digit."""
    save_file({"x": row.contiguous()}, inputs)
    repeated = [*map(str, words), "--repeat", str(REPEATED)]
    done = subprocess.run(repeated, check=True, capture_output=True, text=True)
    return statistics.median(map(float, re.findall(r"([\d.]+) us", done.stderr)))


def call_times(models: Mapping[str, nn.Module], x: Tensor) -> dict[str, float]:
    """Microseconds of one call of each, in turns on one thread; of a model that scripts, too."""
    scripted = _scripted(models["eager"])
    calls: dict[str, Callable[[Tensor], object]] = dict(models)
    if scripted is not None:
        calls["torch.jit.script"] = scripted
    times: dict[str, list[float]] = {name: [] for name in calls}
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            for is_counted in (False, *(True,) * ROUNDS):
                for name, call in calls.items():
                    taken = _microseconds(call, x)
                    times[name] += [taken] if is_counted else []
    finally:
        torch.set_num_threads(before)
    return {name: statistics.median(taken) for name, taken in times.items()}


def _scripted(model: nn.Module) -> Callable[[Tensor], object] | None:
    """The model by torch.jit.script, whose deprecation is known here; None if it refuses it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return torch.jit.script(model)
        except (RuntimeError, NotImplementedError):
            return None


def _microseconds(call: Callable[[Tensor], object], x: Tensor) -> float:
    started = time.perf_counter()
    for _ in range(CALLS):
        call(x)
    return 1e6 * (time.perf_counter() - started) / CALLS
