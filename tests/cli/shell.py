"""Commands run in this process: quick, since torch is imported already."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from stator.cli.commands import main


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    exit_code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What `--json` printed."""
        return json.loads(self.out)


class Shell:
    """Runs `stator ...`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *args: str) -> Done:
        """The command with these arguments; it must end by itself, with a message at most."""
        result = CliRunner().invoke(main, [str(arg) for arg in args], prog_name="stator")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Done(result.exit_code, result.stdout, result.stderr)
