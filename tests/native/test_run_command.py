"""The command `stator-run` of an installed package starts the native one."""

import shutil
import subprocess
import sys

import pytest
import torch

import stator
from stator.extension import command
from stator.native_builds import build_name, torch_folder, torch_version

START = "from stator.run_command import main; main()"


def started(*words, **environment):
    return subprocess.run(
        [sys.executable, "-c", START, *words],
        capture_output=True,
        text=True,
        check=False,
        env={**environment},
    )


def test_the_installed_torch_is_found_without_importing_it():
    folder = torch_folder()
    assert folder is not None
    assert torch_version(folder) == torch.__version__
    assert build_name("2.13.0+cpu").startswith("torch-2.13.0+cpu-cpython-3")


@pytest.mark.skipif(command() is None, reason="needs the native runtime")
def test_it_runs_a_saved_model(tmp_path):
    stator.save(torch.nn.ReLU().eval(), tmp_path / "relu", [stator.InputSpec([None], name="x")])
    done = started(str(tmp_path / "relu"), "--describe", PYTHONPATH=":".join(sys.path))
    assert done.returncode == 0, done.stderr
    assert "input   x: f32[s0]" in done.stdout


def test_without_a_build_it_says_how_to_make_one(tmp_path):
    package = tmp_path / "stator"
    package.mkdir()
    for name in ("__init__", "native_builds", "run_command", "requirements"):
        source = f"{stator.__path__[0]}/{name}.py"
        shutil.copy(source, package)
    path = ":".join([str(tmp_path), *(one for one in sys.path if not one.endswith("src"))])
    done = started(PYTHONPATH=path, XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 2
    assert done.stderr == (
        "stator-run: the native runtime is not built for this torch: run `stator build-native`\n"
    )
