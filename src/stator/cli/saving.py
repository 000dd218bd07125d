"""save: an object as a saved model."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from stator.api.saving import save as save_model
from stator.cli.failures import CommandFailure, user_code
from stator.cli.inputs import load_call
from stator.cli.origin import Origin
from stator.cli.screen import CommandOutcome, show_plain, size_text, working
from stator.export.files import Paths


def save(
    obj: str,
    origin: Origin,
    output: str,
    embed_source: bool,
) -> CommandOutcome:
    """Write the object's program and its tensors."""
    subject, given = load_call(obj, replace(origin, mode=origin.mode or "eval"))
    path = _path(output, subject.name)
    with working(f"saving {subject.name}"), user_code(f"{subject.name} could not be captured"):
        save_model(subject.object, path, input_spec=given.specs, embed_source=embed_source)
    files = [file for file in (Paths.of(path).text, Paths.of(path).weights) if file.is_file()]
    written = [{"file": str(file), "bytes": file.stat().st_size} for file in files]

    def show(screen: Console) -> None:
        for file in files:
            show_plain(screen, f"{file}  {size_text(file.stat().st_size)}")

    return CommandOutcome({"object": obj, "model": path, "files": written}, show)


def _path(output: str, name: str) -> str:
    """`output`, or the object's name in it if it is a folder."""
    path = output.removesuffix(".stator")
    if path.endswith(os.sep) or Path(path).is_dir():
        return str(Path(path) / name.rpartition(".")[2])
    if not Path(path).name:
        raise CommandFailure(
            f"--output: `{output}` has no name", fix="give a path such as out/model"
        )
    return path
