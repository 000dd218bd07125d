"""onnx: the ONNX files of a saved model."""

from __future__ import annotations

import dataclasses
import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from stator.api.saving import has_onnx
from stator.cli.failures import FOUND, OK, CommandFailure
from stator.cli.screen import CommandOutcome, show_plain, size_text, working
from stator.export.files import Paths

if TYPE_CHECKING:
    from stator.api.onnx_report import OnnxReport

ENDING = ".onnx"


def onnx(
    model: str, output: str | None, opset: int | None, embed: bool, search: bool
) -> CommandOutcome:
    """Write the files; the report of each says what was checked."""
    file = None if output is None else _file(output, model)
    has_onnx()  # or it says what to install, before anything is imported that needs it
    with working("writing ONNX"):
        saving = importlib.import_module("stator.api.onnx_saving")
        reports: Sequence[OnnxReport] = saving.save_onnx(
            model, output=file, opset=opset, embed=embed, search=search
        )

    def show(screen: Console) -> None:
        for report in reports:
            size = size_text(report.file.stat().st_size)
            show_plain(screen, f"{report.file}  {size}  (opset {report.opset})")
            show_plain(screen, "\n".join(report.findings()))

    data = {"model": model, "files": [_data(report) for report in reports]}
    return CommandOutcome(data, show, OK if all(report.runs for report in reports) else FOUND)


def _data(report: OnnxReport) -> dict[str, Any]:
    told = dataclasses.asdict(report)
    differences = [{"output": k, "greatest": d} for k, d in report.differences.items()]
    file = {"file": str(report.file), "bytes": report.file.stat().st_size}
    return told | file | {"differences": differences}


def _file(output: str, model: str) -> Path:
    """`output`, or the model's name in it if it is a folder."""
    path = Path(output)
    if output.endswith(os.sep) or path.is_dir():
        return path / (Paths.of(model).text.stem + ENDING)
    if path.name == ENDING:
        raise CommandFailure(
            f"--output: `{output}` has no name", fix="give a path such as out/model.onnx"
        )
    if path.suffix != ENDING:  # among others, a file of the model itself
        raise CommandFailure(
            f"--output: `{output}` does not end in {ENDING}",
            fix="give a path such as out/model.onnx",
        )
    return path
