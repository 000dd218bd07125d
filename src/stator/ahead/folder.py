"""`NAME.compiled/`: the libraries of a saved model and `manifest.json`, which lists them.

The manifest begins with the digest of all that follows in it, and has the digest of each library,
that of the model it was made of, and what the code is for: device, version of torch, processor. The
native runtime checks all of it (`runtime/compiled/manifest.cpp`). The folder is replaced whole.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from stator.export.files import Paths, flush, locked

FORMAT, VERSION = "stator-compiled", 1
MANIFEST = "manifest.json"
TARGETS = ("cpu", "cuda")


def folder_of(path: str | os.PathLike[str]) -> Path:
    """`out/model` -> `out/model.compiled`."""
    return Paths.of(path).text.with_suffix(".compiled")


def remove_folder(path: str | os.PathLike[str]) -> None:
    """Remove the libraries of the model at `path`, which are of another one from now on."""
    folder = folder_of(path)
    if is_ours(folder):
        shutil.rmtree(folder)


def is_ours(folder: Path) -> bool:
    """Whether `folder` is one that this module has written."""
    try:
        with (folder / MANIFEST).open("rb") as file:
            return file.read(64).startswith(f'{{"format":"{FORMAT}",'.encode())
    except OSError:
        return False


def target_in(folder: Path) -> str:
    """The device that the libraries are for, as the list has it; the CPU if it has none."""
    try:
        data = json.loads((folder / MANIFEST).read_bytes())
    except (OSError, ValueError):  # the native runtime says what is wrong
        return "cpu"
    target = data.get("target") if isinstance(data, dict) else None
    return target if target in TARGETS else "cpu"


@contextlib.contextmanager
def new_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A folder to write to, which takes its place when the block ends well."""
    final = folder_of(path)
    with _temporary(final) as folder:
        yield folder
        for file in folder.iterdir():
            flush(file)
        flush(folder)
        with locked(final.parent), _temporary(final) as old:
            if final.exists():
                os.replace(final, old / "old")
            os.replace(folder, final)
            flush(final.parent)


@contextlib.contextmanager
def _temporary(final: Path) -> Iterator[Path]:
    folder = final.with_name(f".{final.name}.{secrets.token_hex(8)}.tmp")
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def target_of(device: str, *, portable: bool) -> dict[str, str]:
    """What code that is compiled here is for."""
    return {
        "target": device,
        "torch": torch.__version__.partition("+")[0],
        "machine": platform.machine(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "processor": "" if portable else processor(),
    }


def processor() -> str:
    """The digest of what the processor here can do, as Linux names it."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    features = next(line for line in lines if line.startswith(("flags", "Features")))
    return hashlib.sha256(features.encode()).hexdigest()


def write_manifest(
    folder: Path, model: str, device: str, programs: Mapping[str, Any], *, portable: bool
) -> None:
    """Write the list; `model` is the digest of the model's text.

    Code that is not portable is only for processors which can do what this one can.
    """
    rest = {"model": model, **target_of(device, portable=portable), "programs": dict(programs)}
    text = json.dumps(rest, separators=(",", ":"), allow_nan=False).encode("ascii")[1:] + b"\n"
    digest = hashlib.sha256(text).hexdigest()
    head = f'{{"format":"{FORMAT}","version":{VERSION},"digest":"{digest}",'.encode()
    (folder / MANIFEST).write_bytes(head + text)
