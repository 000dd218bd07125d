"""The pytest plugin: a marker, an option, a summary; nothing where nobody asks for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import stator

SOURCE = Path(stator.__file__).parents[1]
ROOT = Path(__file__).parents[2]

LIGHT = """
import sys

def test_nothing_is_imported():
    assert "torch" not in sys.modules
    assert "stator" not in sys.modules
"""

MODEL = """
import pytest
import torch

import stator
from tests.verify import faults
from tests.verify.faults import with_fault


def halved(x):
    while x.sum() > 1:
        x = x / 2
    return x


WRONG = with_fault(halved, faults.one_iteration_only, (torch.zeros(2),))


def test_plain():
    assert stator.to_static(halved)(torch.ones(2)).sum() == 1


@pytest.mark.stator(budget=12)
def test_marked():
    assert stator.to_static(halved)(torch.ones(2)).sum() == 1


@pytest.mark.stator
def test_wrong():
    WRONG(torch.full((2,), 8.0))
"""


def run_pytest(tmp_path, text, *options):
    (tmp_path / "test_model.py").write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    command = [
        sys.executable, "-m", "pytest", "-p", "stator_pytest", "--strict-markers", "-q",
        "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "--import-mode=importlib", *options,
        "test_model.py",
    ]  # fmt: skip
    path = os.pathsep.join([str(SOURCE), str(ROOT)])
    return subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip


def test_where_nobody_asks_nothing_is_imported(tmp_path):
    done = run_pytest(tmp_path, LIGHT)
    assert done.returncode == 0, done.stdout
    assert "stator" not in done.stdout


@pytest.mark.slow
def test_marked_tests_are_verified_and_a_difference_fails_them(tmp_path):
    done = run_pytest(tmp_path, MODEL)
    assert done.returncode == 1, done.stdout
    assert "1 failed, 2 passed" in done.stdout
    assert "halved: differs from eager code" in done.stdout
    assert "test_model.py:11: the loop stator::while leaves the path of eager code" in done.stdout
    assert "2 calls verified with " in done.stdout
    assert "; 1 difference\n" in done.stdout


@pytest.mark.slow
def test_with_the_option_every_test_is_verified(tmp_path):
    done = run_pytest(tmp_path, MODEL, "--stator-verify", "-k", "not wrong")
    assert done.returncode == 0, done.stdout
    assert "2 calls verified with " in done.stdout
    assert "6 of 6 paths of branches and loops covered; 0 differences\n" in done.stdout
