"""doctor: what is installed, what is missing, how to get it."""

import importlib.metadata
import sys
from pathlib import Path

import pytest
import torch

from stator.cli import doctor
from stator.extras import install_command


def findings(done):
    return {one["name"]: one for one in done.json["findings"]}


def test_here_all_is_well(shell):
    done = shell("doctor", "--json")
    assert done.exit_code == 0
    found = findings(done)
    assert found["torch"]["found"].startswith(torch.__version__)
    assert found["capture"]["state"] == "ok"
    assert found["cli"]["state"] == "ok"
    assert shell("doctor", "--no-try").out.endswith("everything that Stator needs is installed\n")


def test_the_tested_torch_is_that_of_the_constraints():
    constraints = Path(__file__).parents[2] / "constraints.txt"
    assert f"torch=={doctor.TESTED_TORCH}\n" in constraints.read_text()


@pytest.mark.parametrize(
    ("version", "fix"),
    [(None, "pip install torch==2.13.0"), ("2.9.1", "pip install torch==2.13.0")],
)
def test_a_torch_that_is_missing_or_old_must_be_mended(shell, monkeypatch, version, fix):
    known = importlib.metadata.version

    def told(name):
        if name != "torch":
            return known(name)
        if version is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(importlib.metadata, "version", told)
    done = shell("doctor", "--no-try")
    assert done.exit_code == 1
    assert f"fix: {fix}\n" in done.out
    assert done.out.endswith("1 of these must be fixed\n")


def test_a_torch_that_cannot_be_imported_must_be_mended(shell, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    done = shell("doctor")
    assert done.exit_code == 1
    assert "cannot be imported" in done.out
    assert "fix: pip install --force-reinstall torch\n" in done.out


def test_a_compiler_and_an_extra_can_be_missing(shell, monkeypatch):
    known = importlib.metadata.version

    def told(name):
        if name == "hypothesis":
            raise importlib.metadata.PackageNotFoundError(name)
        return known(name)

    monkeypatch.setattr(importlib.metadata, "version", told)
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    done = shell("doctor", "--no-try", "--json")
    assert done.exit_code == 0
    found = findings(done)
    assert found["C++ compiler"]["state"] == "missing"
    assert "g++" in found["C++ compiler"]["fix"]
    assert found["test"]["fix"] == install_command("test")


def test_a_capture_that_fails_is_found(shell, monkeypatch):
    monkeypatch.setattr(doctor, "TRIAL", "def halvings(x):\n    return eval('x'), 1\n")
    done = shell("doctor", "--json")
    assert done.exit_code == 1
    assert findings(done)["capture"]["found"].startswith("UnsupportedSyntax: [ST102]")
