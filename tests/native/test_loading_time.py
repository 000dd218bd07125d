"""What `stator-run` needs before it runs a model: processor time, the least of a few runs."""

from __future__ import annotations

import resource
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

import stator
from stator import InputSpec
from stator.extension import command

pytestmark = [
    pytest.mark.skipif(command() is None, reason="the native runtime is not built"),
    pytest.mark.slow,
]

TENSORS = 5000
START_LIMIT = 0.4  # seconds
MORE_THAN_SAFETENSORS = 0.05


class Many(nn.Module):
    """A module of many small parameters, two of which it reads."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.all = nn.ParameterList([nn.Parameter(torch.randn(8)) for _ in range(count)])

    def forward(self, x: Tensor) -> Tensor:
        return x * self.all[0] + self.all[-1]


def least(seconds: Callable[[], float]) -> float:
    return min(seconds() for _ in range(7))


def of_command(model: Path) -> float:
    """Processor seconds of the command until it has described a model."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [str(command()), str(model), "--describe"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def of_safetensors(file: Path) -> float:
    before = time.process_time()
    load_file(file)
    return time.process_time() - before


def saved(folder: Path, count: int) -> Path:
    path = folder / f"of-{count}"
    stator.save(Many(count), path, input_spec=[InputSpec([8])])
    return path


def test_it_starts_soon(tmp_path: Path) -> None:
    model = saved(tmp_path, 2)
    assert least(lambda: of_command(model)) < START_LIMIT


def test_five_thousand_tensors_take_little_more_than_with_safetensors(tmp_path: Path) -> None:
    few, many = saved(tmp_path, 2), saved(tmp_path, TENSORS)
    loading = least(lambda: of_command(many)) - least(lambda: of_command(few))
    reading = least(lambda: of_safetensors(many.with_suffix(".safetensors")))
    assert loading < reading + MORE_THAN_SAFETENSORS
