"""The same static model under torchrun: DDP and FSDP2, two processes, gloo; the losses of eager."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import stator
from tests.distributed import worker

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def losses_under_torchrun(way, file):
    """What each rank's two trainings lost, step by step."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
        str(Path(worker.__file__)), way, str(file),
    ]  # fmt: skip
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(file.read_text())


@pytest.mark.feature(
    "distributed",
    "DDP under `torchrun`, with branches that leave parameters unused",
    "FSDP2: `fully_shard` of a static model",
    "FSDP2: static blocks, sharded separately",
)
@pytest.mark.parametrize("way", worker.WAYS)
def test_two_processes_lose_what_eager_loses(way, tmp_path):
    first, second = losses_under_torchrun(way, tmp_path / "losses.json")
    assert first["eager"] == first["static"]
    assert second["eager"] == second["static"]
    assert len(first["eager"]) == worker.STEPS
    assert first["eager"] != second["eager"], "both ranks saw the same data"


class FSDPModule:
    """Named as the class that `fully_shard` mixes in."""


class Sharded(FSDPModule, nn.Linear):
    """Stands for a module that `fully_shard` has sharded: no process group is needed here."""


@pytest.mark.feature(
    "distributed", "a sharded or wrapped module inside a static one", refused="ST204"
)
def test_a_sharded_module_inside_a_program_is_refused():
    model = stator.to_static(nn.Sequential(Sharded(3, 3)))
    with pytest.raises(stator.StatorError, match="convert the module inside it"):
        model(torch.ones(2, 3))
