"""Runs scripts one after the other, each in a process of its own that has torch imported already.

    with ScriptRunner() as runner:
        finished = runner.run(file, folder)

The imports of a first capture take seconds, so one process makes them and forks for each script.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import traceback
import types
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import torch

import stator


@dataclass(frozen=True)
class Finished:
    """How a script ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


class ScriptRunner:
    """A process that forks for each script."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.docs.pages"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.communicate()

    def run(self, script: Path, folder: Path) -> Finished:
        """Run `script` in `folder`, as `python -W ignore` does."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([str(script), str(folder)]), file=self._process.stdin, flush=True)
        code = int(self._process.stdout.readline())
        return Finished(code, (folder / "stdout").read_text(), (folder / "stderr").read_text())


def serve() -> None:
    """Read scripts and folders, line by line, and print the exit status of each."""
    with tempfile.TemporaryDirectory() as folder:
        stator.save(torch.nn.Linear(2, 2).eval(), Path(folder) / "model", [torch.ones(1, 2)])
        stator.load(Path(folder) / "model")(torch.ones(1, 2))
    for line in sys.stdin:
        script, folder = json.loads(line)
        child = os.fork()
        if not child:
            _run(script, folder)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _run(script: str, folder: str) -> None:
    os.chdir(folder)
    for name in ("stdout", "stderr"):
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, getattr(sys, name).fileno())
    warnings.simplefilter("ignore")
    sys.argv[:] = [script]
    code = 0
    try:
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        main.__file__ = script
        exec(compile(Path(script).read_text(), script, "exec"), vars(main))
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:  # noqa: BLE001  # whatever it is, the test shows it
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    serve()
