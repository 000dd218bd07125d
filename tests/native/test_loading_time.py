"""What a model needs before it runs: processor time, the least of a few runs."""

from __future__ import annotations

import hashlib
import json
import resource
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

import stator
from stator import InputSpec
from stator.export.digests import digests_of
from stator.extension import command
from tests.export.crafted import Call, craft_text, value, weight

pytestmark = [
    pytest.mark.skipif(command() is None, reason="the native runtime is not built"),
    pytest.mark.slow,
]

TENSORS = 5000
START_LIMIT = 0.4  # seconds
MORE_THAN_SAFETENSORS = 0.05
LARGE = 2**29  # numbers of four bytes: 2 GB


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


def of_python(model: Path) -> float:
    before = time.process_time()
    stator.load(model)
    return time.process_time() - before


def test_python_loads_five_thousand_tensors_little_later_than_safetensors(tmp_path: Path) -> None:
    many = saved(tmp_path, TENSORS)
    weights = many.with_suffix(".safetensors")
    assert least(lambda: of_python(many) - of_safetensors(weights)) < MORE_THAN_SAFETENSORS


def write_sparse(file: Path, tail: torch.Tensor) -> None:
    """Weights that begin with zeros, which take no room on the disk, and end with `tail`."""
    size, end = 4 * (LARGE - 16), 4 * LARGE
    header = {
        "large": {"dtype": "F32", "shape": [LARGE - 16], "data_offsets": [0, size]},
        "tail": {"dtype": "F32", "shape": [16], "data_offsets": [size, end]},
    }
    text = json.dumps(header).encode().ljust(248)
    with file.open("wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        stream.seek(size - 4, 1)
        stream.write(torch.tensor([5.0]).numpy().data)
        stream.write(tail.numpy().data)


def of_hashing(file: Path) -> float:
    before = time.process_time()
    with file.open("rb") as stream:
        hashlib.file_digest(stream, "sha256")
    return time.process_time() - before


def test_two_gigabytes_take_little_more_than_their_digests(tmp_path: Path) -> None:
    if shutil.disk_usage(tmp_path).free < 8 * LARGE:
        pytest.skip("the disk is nearly full")
    tail, x, model = torch.randn(16), torch.randn(16), tmp_path / "model"
    weights, inputs, outputs = (tmp_path / f"{name}.safetensors" for name in ("model", "in", "out"))
    write_sparse(weights, tail)
    calls = [
        Call("aten::select.int", [weight("large"), 0, -1], gives=["last"]),
        Call("aten::add.Tensor", [value("x"), weight("tail")], {"alpha": 1}, gives=["moved"]),
        Call("aten::mul.Tensor", [value("moved"), value("last")]),
    ]
    tensors = {"large": torch.empty(LARGE - 16, device="meta"), "tail": tail}
    scalar = {"tensor": {"dtype": "float32", "shape": [], "device": "cpu"}}
    craft_text(model, calls, tensors, digests_of(weights), types={"last": scalar})
    save_file({"x": x}, inputs)

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [str(command()), str(model), "--inputs", str(inputs), "--outputs", str(outputs)]
    subprocess.run(words, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert torch.equal(next(iter(load_file(outputs).values())), (x + tail) * 5)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert seconds < 2 * of_hashing(weights) + START_LIMIT
