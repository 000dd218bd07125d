"""The made parts of docs/verifying.md: a program that is right, one that is not, a test."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import torch

import stator
from docs.examples import routing
from stator.api.verification import Verification
from tests.docs.documents import ROOT
from tests.verify import faults
from tests.verify.faults import with_fault

INPUTS = (torch.tensor([[1.0, 2.0, 3.0]]),)


def source() -> str:
    """The example, without its docstring."""
    return (ROOT / "docs" / "examples" / "routing.py").read_text().partition('"""\n\n')[2].rstrip()


def right() -> str:
    """The report on the example."""
    return _reports()[0]


def wrong() -> str:
    """The report on a program that was broken."""
    return _reports()[1]


@functools.cache
def _reports() -> tuple[str, str]:
    """Both, made in a new process: hypothesis draws constants of all loaded modules."""
    path = os.pathsep.join([str(Path(stator.__file__).parents[1]), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", "from tests.docs import verifying; verifying.print_reports()"],
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}, cwd=ROOT,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    one, other = json.loads(done.stdout)
    return one, other


def print_reports() -> None:
    """Print what `_reports` reads."""
    print(json.dumps([report_of_the_example(), report_of_a_fault()]))


def report_of_the_example() -> str:
    """The report, with what hypothesis draws in this process."""
    return _text(stator.verify(routing.Router(), INPUTS))


def report_of_a_fault() -> str:
    """The same for a program that divides by 3, where the code says 2."""
    model = routing.Router()
    fault = faults.constant("aten::div.Tensor", 2, 3)
    static = with_fault(model.forward, fault, INPUTS)
    return _text(stator.verify(static, INPUTS, backends=("program",)))


def _text(report: Verification) -> str:
    return str(report).replace(routing.__file__, "routing.py")


TEST = """
import pytest
import torch

import stator


@stator.to_static
def halved(x):
    while x.sum() > 1:
        x = x / 2
    return x


@pytest.mark.stator
def test_halved():
    assert halved(torch.ones(4)).sum() == 1
""".strip()


def test_file() -> str:
    """A file of tests."""
    return TEST


def pytest_run() -> str:
    """What pytest says of it, without how long it took."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test_halved.py").write_text(TEST + "\n")
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "stator_pytest", "-p", "no:cacheprovider",
            "--strict-markers", "test_halved.py",
        ]  # fmt: skip
        path = os.pathsep.join([str(Path(stator.__file__).parents[1]), str(ROOT)])
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, "PYTHONPATH": path, "COLUMNS": "80"},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    return "\n".join(done.stdout.splitlines()[1:-1])


MAKERS: Mapping[str, Callable[[], str]] = {
    "source": source,
    "right": right,
    "wrong": wrong,
    "test": test_file,
    "pytest": pytest_run,
}
