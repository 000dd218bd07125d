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
from typing import Any

import torch

from stator.errors import FormatError, ProgramError
from stator.export.checking import Damage, checked, field
from stator.export.decoding import decode_plain, decode_program, decode_size, decode_size_text
from stator.export.digests import Digests, decode_digests, digests_of, encode_digests
from stator.export.encoding import Json, encode_plain, encode_program
from stator.export.files import (
    OpenFiles,
    Paths,
    locked,
    opened,
    put_in_place,
    remove_leftovers,
    temporary,
)
from stator.export.json_text import MEMORY_FLOOR, NotJson, memory_needed, parse
from stator.export.methods import (
    Method,
    decode_methods,
    encode_methods,
    methods_of,
    mode_name,
)
from stator.export.op_table import STATOR_OP_SET, check_ops, encode_ops, op_set_of
from stator.export.sources import NO_SOURCES, EmbeddedSources, decode_sources, encode_sources
from stator.export.states import SavedState, decode_states, encode_states, state_tensors
from stator.export.tensor_file import keys_of, map_tensors, write_tensors
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
from stator.recursion_limit import more_frames

VERSION = 4
STATELESS_VERSION = 3  # a model without state is written so that earlier readers read it
HEAD = re.compile(rb'\{"format":"stator","version":(\d{1,9}),"digest":"([0-9a-f]{64})",')
TEXT_LIMIT = 2**28  # bytes; room for a million ops
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
    methods: Mapping[str, Method]
    properties: Mapping[str, object]
    states: Mapping[str, SavedState]
    sources: EmbeddedSources  # what there is of the user's source

    def program_of(self, method: str = "forward", *, training: bool = False) -> Program | None:
        """The program that a method runs in a mode; None if there is none."""
        chosen = self.methods[method].programs if method in self.methods else {}
        name = chosen.get(mode_name(training))
        return None if name is None else self.programs[name]


@more_frames()
def write_model(
    path: str | os.PathLike[str],
    programs: Mapping[str, Program],
    tensors: Mapping[str, torch.Tensor],
    *,
    requires_grad: Mapping[str, bool] = NOTHING,
    transient: Collection[str] = (),
    training: bool = False,
    metadata: Mapping[str, object] = NOTHING,
    methods: Mapping[str, Method] | None = None,
    properties: Mapping[str, object] = NOTHING,
    states: Mapping[str, SavedState] = NOTHING,
    sources: EmbeddedSources = NO_SOURCES,
) -> None:
    """Writes `path`.stator and `path`.safetensors: both are replaced, or neither.

    `requires_grad` defaults to that of each tensor; `transient` names what no state_dict holds;
    without `methods` every program is a method, the same in both modes.
    """
    held = state_tensors(states)
    if taken := sorted(held.keys() & tensors.keys()):
        raise FormatError(f"a tensor of the model has the name {taken[0]!r}, which its state needs",
                          fix="give it another name")  # fmt: skip
    tensors = {**tensors, **held}
    paths, keys = Paths.of(path), keys_of(tensors)
    entries = entries_of(programs, tensors, requires_grad, transient, held)
    versions = {"stator": _stator_version(), "torch": torch.__version__.partition("+")[0]}
    rest = {
        "producer": versions,
        "op_sets": {"aten": versions["torch"], "stator": op_set_of(programs)},
        "ops": encode_ops(programs),
        "training": training,
        "properties": encode_plain(dict(properties)),
        "metadata": encode_plain(dict(metadata)),
        "methods": encode_methods(methods_of(programs) if methods is None else methods),
        "tensors": encode_table(entries, tensors, keys),
        "programs": {name: encode_program(programs[name]) for name in sorted(programs)},
        **({"states": encode_states(states)} if states else {}),
        **({"sources": encode_sources(sources)} if sources else {}),
    }
    paths.text.parent.mkdir(parents=True, exist_ok=True)
    with (
        locked(paths.text.parent),
        temporary(paths.weights) as weights,
        temporary(paths.text) as text,
    ):
        remove_leftovers(paths)
        write_tensors(weights, {key: tensors[key] for key in keys.values()})
        digests = digests_of(weights)
        text.write_bytes(_text({"weights": encode_digests(digests), **rest}, digests.size))
        put_in_place(text, weights, paths, expected=_weights_in_use(paths))


def _stator_version() -> str:
    try:
        return importlib.metadata.version("stator")
    except importlib.metadata.PackageNotFoundError:  # run from a checkout
        return "unknown"


def _text(rest: Mapping[str, Json], weights: int) -> bytes:
    """The file: its head, which names the digest of all bytes after it, and the rest."""
    text = json.dumps(rest, separators=(",", ":"), allow_nan=False).encode("ascii")[1:] + b"\n"
    if len(text) > TEXT_LIMIT or memory_needed(text) > max(len(text) + weights, MEMORY_FLOOR):
        raise FormatError(
            f"the programs take {len(text)} bytes, more than a reader allows for",
            fix="save fewer methods in one model, or loop where the same code is repeated",
        )
    digest = hashlib.sha256(text).hexdigest()
    version = VERSION if "states" in rest else STATELESS_VERSION
    return f'{{"format":"stator","version":{version},"digest":"{digest}",'.encode() + text


def _weights_in_use(paths: Paths) -> Digests | None:
    """What the weights of the model now at `paths` are; None if there is no model."""
    try:
        with opened(paths) as files:
            version, data = _parse(paths.text, files)
        return _decode_weights(data, version)
    except (FormatError, Damage):  # nothing there that could be loaded
        return None


def _decode_weights(data: Json, version: int) -> Digests:
    return decode_digests(field(data, "weights", dict, "the model"), "weights", version=version)


def read_model(path: str | os.PathLike[str], *, verify_weights: bool = True) -> SavedModel:
    """The model at `path`, checked; FormatError names the file and the place of what is wrong.

    Without `verify_weights` the size of the weights is compared, and their digests are not.
    """
    paths = Paths.of(path)
    with opened(paths) as files:
        version, data = _parse(paths.text, files)
        try:
            return _decode(data, version, paths, files, verify_weights)
        except Damage as error:
            raise FormatError(f"{paths.text} is damaged: {error}") from None
        except RecursionError:
            raise FormatError(f"{paths.text} is damaged: it is nested too deeply") from None


def _read_text(file: Path, descriptor: int) -> bytes:
    """The whole text, in one piece of memory of just its size."""
    if (size := os.fstat(descriptor).st_size) > TEXT_LIMIT:
        raise FormatError(f"{file} is larger than {TEXT_LIMIT} bytes")
    try:
        return os.pread(descriptor, size, 0)
    except OSError as error:
        raise FormatError(
            f"{file} cannot be read: {error.strerror}", fix="check the path and its permissions"
        ) from None


def _parse(file: Path, files: OpenFiles) -> tuple[int, dict[str, Json]]:
    """The version and the JSON of a file of ours, whose bytes are those that were written."""
    text = _read_text(file, files.text)
    version = _check_head(file, text)
    sizes = [os.fstat(descriptor).st_size for _, descriptor in files.weights]
    try:
        return version, checked(parse(text, size=len(text) + max(sizes, default=0)), dict, "it")
    except NotJson as error:
        raise FormatError(f"{file} is damaged: {error}") from None


def _check_head(file: Path, text: bytes) -> int:
    """The version; FormatError unless this is a text that we can read, whole."""
    head = HEAD.match(text)
    if head is None:
        raise FormatError(f"{file} is not a Stator model", fix="give a file written by `save`")
    version, digest = int(head[1]), head[2].decode()
    if not 1 <= version <= VERSION:
        problem = f"{file} has format version {version}; this Stator reads versions 1 to {VERSION}"
        raise FormatError(problem, fix="load it with the Stator that wrote it, or a newer one")
    if hashlib.sha256(memoryview(text)[head.end() :]).hexdigest() != digest:
        raise FormatError(f"{file} is damaged: its text does not have the digest it names")
    return version


def _decode(
    data: dict[str, Json], version: int, paths: Paths, files: OpenFiles, verify_weights: bool
) -> SavedModel:
    at = "the model"
    if version > 1:
        _check_op_set(data)
    programs = {
        name: _decode_program(program, f"programs.{name}", version)
        for name, program in field(data, "programs", dict, at).items()
    }
    if version > 1:
        check_ops(field(data, "ops", dict, at), programs, "ops")
    training = field(data, "training", bool, at)
    metadata = _decode_plain(data, "metadata")
    methods = decode_methods(data, programs, version=version, training=training, metadata=metadata)
    table = field(data, "tensors", dict, at)
    entries = {name: decode_entry(item, f"tensors.{name}") for name, item in table.items()}
    _check_names(entries)
    digests = _decode_weights(data, version)
    weights = _read_weights(paths, files, digests if verify_weights else digests.only_size())
    tensors = decode_tensors(table, weights)
    check_stored(programs, tensors)
    states = decode_states(data.get("states", {}) if version > 3 else {}, programs, tensors)
    return SavedModel(
        MappingProxyType(programs),
        MappingProxyType(tensors),
        MappingProxyType(entries),
        training,
        MappingProxyType(metadata),
        MappingProxyType(field(data, "producer", dict, at)),
        MappingProxyType(methods),
        MappingProxyType(_decode_plain(data, "properties") if version > 1 else {}),
        MappingProxyType(states),
        decode_sources(data.get("sources", {}), "sources"),
    )


def _check_names(entries: Mapping[str, Entry]) -> None:
    """No module can hold a tensor, or a child, under the name of its mode."""
    for name, entry in entries.items():
        if entry.kind in ("parameter", "buffer") and "training" in name.split("."):
            raise Damage(f"tensors.{name}", "has a name that no module can give")


def _decode_program(data: Json, at: str, version: int) -> Program:
    program = decode_program(data, at, decode_size_text if version < 3 else decode_size)
    try:
        return verify(program)
    except ProgramError as error:
        raise Damage(f"{at}:", error.problem) from None


def _check_op_set(data: Json) -> None:
    version = field(field(data, "op_sets", dict, "the model"), "stator", int, "op_sets")
    if version > STATOR_OP_SET:
        own = f"this Stator has {STATOR_OP_SET}"
        raise Damage("op_sets.stator", f"is {version}, and {own}: a newer one is needed")


def _decode_plain(data: Json, key: str) -> dict[str, object]:
    return checked(decode_plain(field(data, key, dict, "the model"), key), dict, key)


def _read_weights(paths: Paths, files: OpenFiles, digests: Digests) -> dict[str, torch.Tensor]:
    """The weights that belong to the text, under either of their names."""
    if not files.weights:
        raise FormatError(f"{paths.weights} does not exist", fix="keep it beside the .stator file")
    faults = []
    for file, descriptor in files.weights:
        fault = digests.fault(descriptor)
        if fault is None:
            return _map(file, descriptor)
        faults.append((file, fault))
    file, fault = faults[0]
    raise FormatError(f"{file} is damaged, or belongs to another model than {paths.text}: {fault}")


def _map(file: Path, descriptor: int) -> dict[str, torch.Tensor]:
    try:
        return map_tensors(descriptor)
    except Damage as error:
        raise FormatError(f"{file} is damaged: {error}") from None
