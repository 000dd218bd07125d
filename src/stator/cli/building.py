"""build-native: the C++ runtime, compiled for the torch and the Python that are installed."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from stator.cli.failures import REFUSED, CommandFailure
from stator.cli.screen import CommandOutcome, working
from stator.native.building import BuildFailed, CannotBuild, build, results


def build_native(jobs: int) -> CommandOutcome:
    """Compile it, unless that has been done."""
    with working("compiling the native runtime"):
        try:
            folder = build(jobs)
        except CannotBuild as error:
            raise CommandFailure(str(error), REFUSED, fix="install it, and try again") from None
        except BuildFailed as error:
            problem = "the native runtime could not be built"
            raise CommandFailure(problem, REFUSED, details=str(error)) from None
    files = [str(file) for file in results(folder)]
    return CommandOutcome({"folder": str(folder), "files": files}, lambda out: _show(out, folder))


def _show(screen: Console, folder: Path) -> None:
    screen.print(Text(f"built in {folder}"))
    screen.print(Text("programs run in it from now on"))
