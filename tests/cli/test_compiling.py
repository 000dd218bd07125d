"""compile: libraries for the regions of a saved model."""

import shutil

import pytest
import torch

import stator
from stator.extension import extension


def test_a_model_without_regions_has_no_libraries(shell, folder):
    stator.save(torch.nn.Linear(2, 2), "line", [torch.ones(1, 2)])
    done = shell("compile", "line")
    assert (done.exit_code, done.out) == (0, "line.compiled  0 of 0 regions compiled for cpu\n")
    assert [file.name for file in (folder / "line.compiled").iterdir()] == ["manifest.json"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_named(shell, folder):
    stator.save(torch.nn.Linear(2, 2), "line", [torch.ones(1, 2)])
    done = shell("compile", "line", "--device", "cuda")
    assert done.exit_code == 3
    assert "there is no GPU here to compile for" in done.err
    assert not (folder / "line.compiled").exists()


@pytest.mark.slow
@pytest.mark.skipif(extension() is None, reason="the native runtime is not built")
@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")
def test_libraries_are_listed_and_run_if_they_are_trusted(shell, folder):
    stator.save(lambda x: (x.exp() + 1).tanh().sigmoid() * x, "chain", [torch.ones(512)])
    data = shell("compile", "chain", "--json").json
    assert [(one["libraries"], one["failure"]) for one in data["regions"]] == [(1, "")]
    before = extension().counts()["compiled"]
    for words in ((), ("--trust-compiled",)):
        assert shell("run", "chain", "-i", "x:f32[512]", *words).exit_code == 0
    assert extension().counts()["compiled"] == before + 1
