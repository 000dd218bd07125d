"""compile: libraries for the regions of a saved model."""

from __future__ import annotations

import warnings
from typing import Any

from rich.console import Console

from stator.api.compiling import compile_saved
from stator.cli.screen import CommandOutcome, show_plain
from stator.english import counted


def compile(model: str, device: str) -> CommandOutcome:  # noqa: A001  # the name of the command
    """Write the folder of libraries beside the model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the report has what they say
        report = compile_saved(model.removesuffix(".stator"), device)
    regions = [
        {"program": one.program, "place": one.place, "ops": one.ops, "libraries": one.libraries,
         "failure": one.failure}
        for one in report.regions
    ]  # fmt: skip
    data: dict[str, Any] = {
        "model": model, "folder": str(report.folder), "device": device, "regions": regions
    }  # fmt: skip

    def show(screen: Console) -> None:
        compiled = sum(bool(one.libraries) for one in report.regions)
        of_all = counted(len(report.regions), "region")
        show_plain(screen, f"{report.folder}  {compiled} of {of_all} compiled for {device}")
        for one in report.regions:
            show_plain(screen, f"  {one}")

    return CommandOutcome(data, show)
