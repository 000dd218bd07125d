"""The files of a saved model: their names, and how both are replaced, or opened, as one.

NOTE: why `NAME.safetensors.old` exists. Two files cannot be replaced in one step. So the old
weights keep a second name (a hard link) while the new ones are put in place, and lose it when the
new text is there too. A reader opens the text, then the weights under both names, then looks
whether the text is still the same: if so, one of the two is the text's own, whatever a writer does
from then on. A crash between any two steps leaves the old model or the new one.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import fcntl
import glob
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stator.errors import FormatError
from stator.export.digests import Digests

TRIES = 100  # of a reader, while writers put other models in place


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
        if os.path.basename(stem) in ("", ".", ".."):
            raise FormatError(f"the path {os.fspath(path)!r} does not name a model",
                              fix=f"add a name: {os.path.join(stem, 'model')!r}")  # fmt: skip
        weights = stem + ".safetensors"
        return cls(Path(stem + ".stator"), Path(weights), Path(weights + ".old"))


ONNX_PRODUCER = b"\x12\x06stator"  # the field `producer_name` of a model in ONNX's format


def remove_onnx_files(path: str | os.PathLike[str]) -> None:
    """Remove the ONNX files that an earlier save wrote for the model at `path`.

    They point into its weights by offsets, which do not hold for the weights that come now.
    """
    stem = Paths.of(path).text.with_suffix("")
    for file in stem.parent.glob(f"{glob.escape(stem.name)}*.onnx"):
        method = file.name.removeprefix(stem.name).removesuffix(".onnx").removeprefix(".")
        is_ours = not method or (method.isidentifier() and not file.with_suffix(".stator").exists())
        with file.open("rb") as opened:
            if is_ours and ONNX_PRODUCER in opened.read(64):
                file.unlink()


@dataclass(frozen=True)
class OpenFiles:
    """A model's files, open: the weights are among `weights`, each with the name it has."""

    text: int
    weights: tuple[tuple[Path, int], ...]


@contextlib.contextmanager
def opened(paths: Paths) -> Iterator[OpenFiles]:
    """The files of one model, never of two."""
    for _ in range(TRIES):
        with contextlib.ExitStack() as stack:
            text = _open(paths.text, stack)
            weights = [
                (file, descriptor)
                for file in (paths.weights, paths.old_weights)
                if (descriptor := _open_if_there(file, stack)) is not None
            ]
            if _is_at(text, paths.text):
                yield OpenFiles(text, tuple(weights))
                return
    raise FormatError(f"{paths.text} was replaced {TRIES} times while it was read",
                      fix="load it when no process is writing it")  # fmt: skip


def _open(file: Path, stack: contextlib.ExitStack) -> int:
    try:
        return _open_plain(file, stack)
    except FileNotFoundError:
        raise _missing(file) from None
    except OSError as error:
        raise FormatError(
            f"{file} cannot be read: {error.strerror}", fix="check the path and its permissions"
        ) from None


def _missing(file: Path) -> FormatError:
    """The error for a file that does not exist; a path that names another kind of file says so."""
    given = file.with_name(file.name.removesuffix(".stator"))
    stem = given.with_name(given.name.removesuffix(".safetensors"))
    if given.is_file() and stem.with_name(f"{stem.name}.stator").is_file():
        return FormatError(f"{given} has the weights of a model, not its program",
                           fix=f"give the path without the suffix: '{stem}'")  # fmt: skip
    if given.is_file():
        return FormatError(
            f"{given} is not a saved model: there is no {file.name} beside it",
            fix="write it with `stator.save`, and load it by the path that `save` was given",
        )
    if given.is_dir():
        only = _models_in(given)
        return FormatError(
            f"{given} is a folder, and there is no {file.name} beside it",
            fix=f"did you mean '{given / only[0]}'?" if len(only) == 1
            else f"give the path of a model: '{given / 'NAME'}'",
        )  # fmt: skip
    near = difflib.get_close_matches(given.name, _models_in(file.parent), 1)
    return FormatError(
        f"{file} does not exist",
        fix=f"did you mean '{file.with_name(near[0])}'?" if near else "check the path",
    )


def _models_in(folder: Path) -> list[str]:
    """The names of the models that are there."""
    try:
        return sorted(file.stem for file in folder.glob("*.stator"))
    except OSError:
        return []


def _open_plain(file: Path, stack: contextlib.ExitStack) -> int:
    """An open file that has a size and can be mapped; a pipe is not waited for."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    stack.callback(os.close, descriptor)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(file))
    if not stat.S_ISREG(mode):
        raise FormatError(f"{file} is not a regular file", fix="copy its contents into a file")
    return descriptor


def _open_if_there(file: Path, stack: contextlib.ExitStack) -> int | None:
    try:
        return _open_plain(file, stack)
    except OSError:
        return None


def _is_at(descriptor: int, path: Path) -> bool:
    """Is the open file still the one of that name?"""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Writers of one folder wait for each other; the lock is the process's and dies with it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks: one writer at a time
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def temporary(beside: Path) -> Iterator[Path]:
    """A name for a new file in the folder of `beside`; what is left of it is removed."""
    path = beside.with_name(f"{_prefix(beside)}{secrets.token_hex(8)}.tmp")
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _prefix(beside: Path) -> str:
    return f".{beside.name}."


def remove_leftovers(paths: Paths) -> None:
    """Temporary files of writers that were killed go; the folder must be locked."""
    for file in (paths.text, paths.weights, paths.old_weights):
        length = len(_prefix(file)) + 16 + len(".tmp")
        for name in os.listdir(file.parent):
            if name.startswith(_prefix(file)) and name.endswith(".tmp") and len(name) == length:
                file.with_name(name).unlink(missing_ok=True)


def flush(path: Path) -> None:
    """The disk holds what was written to the file, or to the folder, at `path`."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def put_in_place(
    new_text: Path, new_weights: Path, paths: Paths, *, expected: Digests | None
) -> None:
    """Both new files take their places; `expected` is what the weights in use till now are."""
    flush(new_text)
    flush(new_weights)
    if expected is not None:
        _keep_old_weights(paths, expected)
    os.replace(new_weights, paths.weights)
    flush(paths.weights.parent)
    os.replace(new_text, paths.text)
    flush(paths.text.parent)
    paths.old_weights.unlink(missing_ok=True)


def _keep_old_weights(paths: Paths, expected: Digests) -> None:
    """The weights in use get their second name, unless a crash has left them there."""
    if not paths.weights.exists():
        return
    if paths.old_weights.exists() and _differs(paths.weights, expected):
        return
    with temporary(paths.old_weights) as link:
        try:
            os.link(paths.weights, link)
        except OSError:  # a file system without hard links
            shutil.copyfile(paths.weights, link)
            flush(link)
        os.replace(link, paths.old_weights)
    flush(paths.weights.parent)


def _differs(file: Path, expected: Digests) -> bool:
    with file.open("rb") as stream:
        return expected.fault(stream.fileno()) is not None
