"""write_model() and read_model(): programs and tensors <-> `NAME.stator` and `NAME.safetensors`.

Reading runs nothing from the files: no pickle, no import, no lookup but of registered ops.
`docs/format.md` describes both files for readers in any language.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

import torch

from stator.errors import FormatError, ProgramError
from stator.export.checking import Damage, checked, field
from stator.export.decoding import decode_plain, decode_program
from stator.export.encoding import Json, encode_plain, encode_program
from stator.export.files import Paths, digest_of, put_in_place, temporary
from stator.export.tensor_file import keys_of, read_tensors, write_tensors
from stator.export.tensor_table import (
    Entry,
    check_stored,
    decode_entry,
    decode_tensors,
    encode_table,
    entries_of,
)
from stator.program.program import Program
from stator.program.verifier import verify

VERSION = 1
HEAD = re.compile(rb'\{"format":"stator","version":(\d{1,9}),"digest":"([0-9a-f]{64})",')
TEXT_LIMIT = 2**28  # bytes; room for a million ops
TRIES = 5  # of a reader, while a writer puts other models in place
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class SavedModel:
    """What a model's files hold; names of tied tensors give one and the same tensor."""

    programs: Mapping[str, Program]
    tensors: Mapping[str, torch.Tensor]
    entries: Mapping[str, Entry]
    training: bool
    metadata: Mapping[str, object]
    producer: Mapping[str, object]  # the versions of `stator` and `torch` that wrote it


def write_model(
    path: str | os.PathLike[str],
    programs: Mapping[str, Program],
    tensors: Mapping[str, torch.Tensor],
    *,
    requires_grad: Mapping[str, bool] = NOTHING,
    transient: Collection[str] = (),
    training: bool = False,
    metadata: Mapping[str, object] = NOTHING,
) -> None:
    """Writes `path`.stator and `path`.safetensors: both are replaced, or neither.

    `requires_grad` defaults to that of each tensor; `transient` names what no state_dict holds.
    """
    paths, keys = Paths.of(path), keys_of(tensors)
    entries = entries_of(programs, tensors, requires_grad, transient)
    rest = {
        "producer": {"stator": _stator_version(), "torch": torch.__version__.partition("+")[0]},
        "training": training,
        "metadata": encode_plain(dict(metadata)),
        "tensors": encode_table(entries, tensors, keys),
        "programs": {name: encode_program(programs[name]) for name in sorted(programs)},
    }
    paths.text.parent.mkdir(parents=True, exist_ok=True)
    with temporary(paths.weights) as weights, temporary(paths.text) as text:
        write_tensors(weights, {key: tensors[key] for key in keys.values()})
        text.write_bytes(_text({"weights": _weights_part(weights), **rest}))
        put_in_place(text, weights, paths, expected=_weights_in_use(paths))


def _weights_part(file: Path) -> Json:
    return {"bytes": file.stat().st_size, "sha256": digest_of(file)}


def _stator_version() -> str:
    try:
        return importlib.metadata.version("stator")
    except importlib.metadata.PackageNotFoundError:  # run from a checkout
        return "unknown"


def _text(rest: Mapping[str, Json]) -> bytes:
    """The file: its head, which names the digest of all bytes after it, and the rest."""
    text = json.dumps(rest, separators=(",", ":"), allow_nan=False).encode("ascii")[1:] + b"\n"
    digest = hashlib.sha256(text).hexdigest()
    return f'{{"format":"stator","version":{VERSION},"digest":"{digest}",'.encode() + text


def _weights_in_use(paths: Paths) -> str | None:
    """The digest of the weights that the model now at `paths` needs; None if there is no model."""
    try:
        weights = field(_parse(paths.text, _read_text(paths.text)), "weights", dict, "the model")
        return field(weights, "sha256", str, "weights")
    except (FormatError, Damage):  # nothing there that could be loaded
        return None


def read_model(path: str | os.PathLike[str]) -> SavedModel:
    """The model at `path`, checked; FormatError names the file and the place of what is wrong."""
    paths = Paths.of(path)
    text = _read_text(paths.text)
    for _ in range(TRIES):
        try:
            return _read(paths, text)
        except FormatError:
            before, text = text, _read_text(paths.text)
            if text == before:  # no other model has come in between
                raise
    raise FormatError(f"{paths.text} was replaced {TRIES} times while it was read")


def _read_text(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            text = stream.read(TEXT_LIMIT + 1)
    except FileNotFoundError:
        raise FormatError(f"{file} does not exist", fix="check the path") from None
    except OSError as error:
        raise FormatError(f"{file} cannot be read: {error.strerror}") from None
    if len(text) > TEXT_LIMIT:
        raise FormatError(f"{file} is larger than {TEXT_LIMIT} bytes")
    return text


def _parse(file: Path, text: bytes) -> dict[str, Json]:
    """The JSON of a file of ours, whose bytes are those that were written."""
    head = HEAD.match(text)
    if head is None:
        raise FormatError(f"{file} is not a Stator model", fix="give a file written by `save`")
    version, digest = int(head[1]), head[2].decode()
    if version != VERSION:
        problem = f"{file} has format version {version}; this Stator reads version {VERSION}"
        raise FormatError(problem, fix="load it with the Stator that wrote it, or a newer one")
    if hashlib.sha256(text[head.end() :]).hexdigest() != digest:
        raise FormatError(f"{file} is damaged: its text does not have the digest it names")
    try:
        return checked(json.loads(text, parse_constant=_no_constant), dict, "the model")
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{file} is damaged: {error}") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _read(paths: Paths, text: bytes) -> SavedModel:
    data = _parse(paths.text, text)
    try:
        return _decode(data, paths)
    except Damage as error:
        raise FormatError(f"{paths.text} is damaged: {error}") from None
    except ProgramError as error:
        raise FormatError(f"{paths.text} is damaged: {error.problem}") from None
    except RecursionError:
        raise FormatError(f"{paths.text} is damaged: it is nested too deeply") from None


def _decode(data: dict[str, Json], paths: Paths) -> SavedModel:
    at = "the model"
    programs = {
        name: verify(decode_program(program, f"programs.{name}"))
        for name, program in field(data, "programs", dict, at).items()
    }
    table = field(data, "tensors", dict, at)
    entries = {name: decode_entry(item, f"tensors.{name}") for name, item in table.items()}
    tensors = decode_tensors(table, _read_weights(paths, field(data, "weights", dict, at)))
    check_stored(programs, tensors)
    metadata = decode_plain(field(data, "metadata", dict, at), "metadata")
    return SavedModel(
        MappingProxyType(programs),
        MappingProxyType(tensors),
        MappingProxyType(entries),
        field(data, "training", bool, at),
        MappingProxyType(checked(metadata, dict, "metadata")),
        MappingProxyType(field(data, "producer", dict, at)),
    )


def _read_weights(paths: Paths, part: Json) -> dict[str, torch.Tensor]:
    """The weights that belong to the text, under either of their names."""
    digest = field(part, "sha256", str, "weights")
    for file in (paths.weights, paths.old_weights):
        tensors = read_tensors(file, digest)
        if tensors is not None:
            return tensors
    if not paths.weights.exists():
        raise FormatError(f"{paths.weights} does not exist", fix="keep it beside the .stator file")
    raise FormatError(
        f"{paths.weights} is damaged, or belongs to another model than {paths.text}: "
        "it does not have the digest named there"
    )
