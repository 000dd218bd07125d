"""The files of a saved model: their names, their digests, and putting both in place at once.

NOTE: why `NAME.safetensors.old` exists. Two files cannot be replaced in one step. So the old
weights keep a second name (a hard link) while the new ones are put in place, and lose it when the
new text is there too. A reader takes the weights whose digest the text names, under either name:
a crash between any two steps leaves the old model or the new one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Paths:
    """`out/model` -> `out/model.stator` and the weights beside it."""

    text: Path
    weights: Path
    old_weights: Path

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Paths:
        """The files of the model at `path`, which may end in `.stator` or not."""
        stem = os.fspath(path).removesuffix(".stator")
        weights = stem + ".safetensors"
        return cls(Path(stem + ".stator"), Path(weights), Path(weights + ".old"))


def digest_of(file: Path) -> str:
    """The SHA-256 of what `file` holds."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextlib.contextmanager
def temporary(beside: Path) -> Iterator[Path]:
    """A name for a new file in the folder of `beside`; what is left of it is removed."""
    path = beside.with_name(f".{beside.name}.{secrets.token_hex(8)}.tmp")
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def flush(path: Path) -> None:
    """The disk holds what was written to the file, or to the folder, at `path`."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def put_in_place(new_text: Path, new_weights: Path, paths: Paths, *, expected: str | None) -> None:
    """Both new files take their places; `expected` is the digest of the weights in use till now."""
    flush(new_text)
    flush(new_weights)
    if expected is not None:
        _keep_old_weights(paths, expected)
    os.replace(new_weights, paths.weights)
    flush(paths.weights.parent)
    os.replace(new_text, paths.text)
    flush(paths.text.parent)
    paths.old_weights.unlink(missing_ok=True)


def _keep_old_weights(paths: Paths, expected: str) -> None:
    """The weights in use get their second name, unless a crash has left them there."""
    if not paths.weights.exists():
        return
    if paths.old_weights.exists() and digest_of(paths.weights) != expected:
        return
    with temporary(paths.old_weights) as link:
        try:
            os.link(paths.weights, link)
        except OSError:  # a file system without hard links
            shutil.copyfile(paths.weights, link)
        os.replace(link, paths.old_weights)
