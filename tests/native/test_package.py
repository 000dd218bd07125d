"""The installed package: programs in C++, C and Rust that load a model, with no Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import stator
from stator.extension import build_folder, command

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(command() is None, reason="the native runtime is not built"),
]


def output_of(*words: object, **options: object) -> str:
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=600, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Where the package is installed, with the model of the examples beside it."""
    folder = tmp_path_factory.mktemp("package")
    output_of("cmake", "--install", build_folder(), "--prefix", folder)
    output_of(sys.executable, EXAMPLES / "save_model.py", folder / "model")
    return folder


@pytest.fixture(scope="module")
def scores(prefix):
    """What the model gives in Python, as the examples print it."""
    model = stator.load(prefix / "model")
    with torch.no_grad():
        sums = [model(torch.full((1, 4), float(k))).sum().item() for k in range(1, 5)]
    return [f"score {one:.6f}" for one in sums]


@pytest.fixture(scope="module")
def built(prefix):
    """The folder of the C++ and C examples, built from the package alone."""
    folder = prefix / "build"
    output_of(
        "cmake", "-S", EXAMPLES / "cpp", "-B", folder, "-G", "Ninja", f"-Dstator_ROOT={prefix}"
    )
    output_of("cmake", "--build", folder)
    return folder


def test_a_program_in_cpp_runs_the_model_on_threads_and_is_told_of_errors(prefix, built, scores):
    lines = output_of(built / "classify", prefix / "model").splitlines()
    assert lines[:3] == ["forward", "  takes x: f32[s0, 4]", "  gives output"]
    assert [line for line in lines if line.startswith("score")] == scores
    assert any(line.startswith("refused [ST301] x must be a tensor f32[s0, 4]") for line in lines)
    assert any(line.startswith("raised ValueError: the input is negative (line") for line in lines)


def test_a_program_in_c_needs_no_header_of_torch(prefix, built, scores):
    lines = output_of(built / "classify_c", prefix / "model").splitlines()
    assert [line for line in lines if line.startswith("score")] == scores
    assert lines[-1] == "refused [ST300] program forward takes 1 inputs, not 0"


@pytest.mark.skipif(shutil.which("cargo") is None, reason="there is no cargo")
def test_a_program_in_rust_runs_the_model(prefix, scores, tmp_path):
    folder = tmp_path / "rust"
    shutil.copytree(EXAMPLES / "rust", folder)
    environment = {**os.environ, "STATOR_ROOT": str(prefix)}
    output_of("cargo", "build", "--offline", "--quiet", cwd=folder, env=environment)
    lines = output_of(folder / "target/debug/classify", prefix / "model").splitlines()
    assert lines == ["forward", *scores, "raised ValueError: the input is negative"]


def test_nothing_of_it_needs_python(prefix, built):
    for file in (prefix / "bin/stator-run", prefix / "lib/libstator.so", built / "classify"):
        needed = output_of("ldd", file)
        assert "libtorch_cpu" in needed
        assert "libpython" not in needed
        assert "torch_python" not in needed
        assert "not found" not in needed


def test_only_the_api_is_visible_in_the_library(prefix):
    symbols = output_of("nm", "-DC", "--defined-only", prefix / "lib/libstator.so")
    mine = [line.split(maxsplit=2)[2] for line in symbols.splitlines() if "stator" in line]
    assert any(name.startswith("stator_run") for name in mine)
    inner = [name for name in mine if "Frame" in name or "stator::run_while" in name]
    assert not inner


def test_a_package_whose_torch_is_gone_says_so(prefix, tmp_path):
    done = subprocess.run(
        [
            "cmake", "-S", str(EXAMPLES / "cpp"), "-B", str(tmp_path / "build"), "-G", "Ninja",
            f"-Dstator_ROOT={prefix}", "-Dstator_TORCH_ROOT=/nowhere",
        ],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode != 0
    assert "set stator_TORCH_ROOT" in " ".join(done.stderr.split())
