"""python_files(): the Python files below a folder that are somebody's source."""

from __future__ import annotations

import fnmatch
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

NOT_SOURCE = frozenset({"__pycache__", "node_modules", "site-packages", "build", "dist"})


def python_files(folder: Path, exclude: Sequence[str] = ()) -> list[Path]:
    """The `.py` files below `folder`, sorted, without those that are not the project's own.

    Left out are virtual environments, hidden folders, `node_modules`, `build` and the like, what
    `.gitignore` names where git is there to say so, and what matches a pattern of `exclude` by its
    name, by that of a folder above it, or by its whole path below `folder`.
    """
    ignored = _ignored_by_git(folder)
    return sorted(file for file in _below(folder, folder, exclude) if file.resolve() not in ignored)


def _below(here: Path, top: Path, exclude: Sequence[str]) -> Iterator[Path]:
    with os.scandir(here) as entries:
        for entry in entries:
            path = here / entry.name
            if entry.name.startswith(".") or _matches(path.relative_to(top), exclude):
                continue
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in NOT_SOURCE and not (path / "pyvenv.cfg").exists():
                    yield from _below(path, top, exclude)
            elif entry.name.endswith(".py"):
                yield path


def _matches(path: Path, patterns: Sequence[str]) -> bool:
    whole = path.as_posix()
    return any(
        fnmatch.fnmatch(path.name, pattern.rstrip("/")) or fnmatch.fnmatch(whole, pattern)
        for pattern in patterns
    )


def _ignored_by_git(folder: Path) -> frozenset[Path]:
    """The files below `folder` that `.gitignore` names; none where there is no repository."""
    command = ["git", "-C", str(folder), "ls-files", "-z", "--others", "--ignored",
               "--exclude-standard", "--", "*.py"]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return frozenset()
    names = done.stdout.decode(errors="surrogateescape").split("\0")
    return frozenset((folder / name).resolve() for name in names if name)
