"""read_contents(): what the files of a model say, without the data of its tensors. No torch.

`read_model` in `saved_model` builds on it, and holds every name against torch. Reading runs nothing
from the files: no pickle, no import, no lookup but of registered ops.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from stator.errors import FormatError, ProgramError
from stator.export.checking import Damage, checked, field
from stator.export.decoding import (
    Dialect,
    decode_plain,
    decode_program,
    decode_size,
    decode_size_text,
)
from stator.export.digests import Digests, decode_digests
from stator.export.encoding import Json
from stator.export.files import OpenFiles, Paths, opened
from stator.export.json_text import NotJson, parse
from stator.export.methods import Method, decode_methods, mode_name
from stator.export.sources import EmbeddedSources, decode_sources
from stator.export.tensor_entries import (
    Entry,
    TensorNames,
    check_stored,
    decode_entry,
    decode_names,
)
from stator.export.tensor_header import Span, read_header
from stator.export.vocabulary import Vocabulary, WrittenNames
from stator.program.program import Program

VERSION = 4
STATOR_OP_SET = 3  # rises when an op of Stator is added, or changes its meaning
HEAD = re.compile(rb'\{"format":"stator","version":(\d{1,9}),"digest":"([0-9a-f]{64})",')
TEXT_LIMIT = 2**28  # bytes; room for a million ops
THE_MODEL = "the model"


@dataclass(frozen=True)
class ModelContents:
    """What a model's files say."""

    programs: Mapping[str, Program]
    entries: Mapping[str, Entry]
    names: TensorNames
    training: bool
    metadata: Mapping[str, object]
    producer: Mapping[str, object]  # the versions of `stator` and `torch` that wrote it
    methods: Mapping[str, Method]
    properties: Mapping[str, object]
    sources: EmbeddedSources  # what there is of the user's source
    version: int  # of the format
    digests: Digests  # of the weights
    schemas: Mapping[str, str]  # of the ops of torch, as the writer knew them
    digest: str  # of the text

    def program_of(self, method: str = "forward", *, training: bool = False) -> Program | None:
        """The program that a method runs in a mode; None if there is none."""
        chosen = self.methods[method].programs if method in self.methods else {}
        name = chosen.get(mode_name(training))
        return None if name is None else self.programs[name]


@dataclass(frozen=True)
class ModelText:
    """The text of a model, parsed; `data` has been checked to be what was written."""

    paths: Paths
    version: int
    data: Mapping[str, Json]

    def dialect(self, names: Vocabulary) -> Dialect:
        """How the text is read by a reader that knows these names."""
        return Dialect(names, decode_size_text if self.version < 3 else decode_size)


@dataclass(frozen=True)
class OpenWeights:
    """The weights that belong to a text: an open file, and where it has each tensor."""

    descriptor: int
    spans: Mapping[str, Span]


def read_contents(path: str | os.PathLike[str]) -> ModelContents:
    """What the files at `path` say; FormatError names the file and the place of what is wrong.

    Names of ops and dtypes are taken as they are written; the digests of both files are checked.
    """
    paths = Paths.of(path)
    with opened(paths) as files, damage_named(paths.text):
        text = parse_text(paths, files)
        return decode_contents(text, files, WrittenNames(), verified=True)[0]


@contextlib.contextmanager
def damage_named(file: Path) -> Iterator[None]:
    """Inside, Damage becomes a FormatError that names the file."""
    try:
        yield
    except Damage as error:
        raise FormatError(f"{file} is damaged: {error}") from None
    except RecursionError:
        raise FormatError(f"{file} is damaged: it is nested too deeply") from None


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


def parse_text(paths: Paths, files: OpenFiles) -> ModelText:
    """The text of a model, whose bytes are those that were written."""
    text = _read_text(paths.text, files.text)
    version = _check_head(paths.text, text)
    sizes = [os.fstat(descriptor).st_size for _, descriptor in files.weights]
    try:
        data = parse(text, size=len(text) + max(sizes, default=0))
    except NotJson as error:
        raise FormatError(f"{paths.text} is damaged: {error}") from None
    return ModelText(paths, version, checked(data, dict, "it"))


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


def decode_contents(
    text: ModelText, files: OpenFiles, names: Vocabulary, *, verified: bool
) -> tuple[ModelContents, OpenWeights]:
    """What the text says, and the weights that belong to it; Damage names the first fault.

    Unless `verified`, the size of the weights is compared, and their digests are not.
    """
    data, version = text.data, text.version
    if version > 1:
        _check_op_set(data)
    programs = {
        name: _decode_program(program, f"programs.{name}", text.dialect(names))
        for name, program in field(data, "programs", dict, THE_MODEL).items()
    }
    if version > 1:
        names.check_schemas(field(data, "ops", dict, THE_MODEL), programs, "ops")
    training = field(data, "training", bool, THE_MODEL)
    metadata = _decode_plain(data, "metadata")
    methods = decode_methods(data, programs, version=version, training=training, metadata=metadata)
    table = field(data, "tensors", dict, THE_MODEL)
    entries = {name: decode_entry(item, f"tensors.{name}") for name, item in table.items()}
    _check_names(entries)
    digests = weights_of(text)
    weights = _open_weights(text.paths, files, digests if verified else digests.only_size())
    tensors = decode_names(table, weights.spans, names)
    check_stored(programs, tensors.types)
    contents = ModelContents(
        MappingProxyType(programs),
        MappingProxyType(entries),
        tensors,
        training,
        MappingProxyType(metadata),
        MappingProxyType(field(data, "producer", dict, THE_MODEL)),
        MappingProxyType(methods),
        MappingProxyType(_decode_plain(data, "properties") if version > 1 else {}),
        decode_sources(data.get("sources", {}), "sources"),
        version,
        digests,
        MappingProxyType(_decode_schemas(data)),
        field(data, "digest", str, THE_MODEL),
    )
    return contents, weights


def _check_names(entries: Mapping[str, Entry]) -> None:
    """No module can hold a tensor, or a child, under the name of its mode."""
    for name, entry in entries.items():
        if entry.kind in ("parameter", "buffer") and "training" in name.split("."):
            raise Damage(f"tensors.{name}", "has a name that no module can give")


def _decode_program(data: Json, at: str, dialect: Dialect) -> Program:
    program = decode_program(data, at, dialect)
    try:
        dialect.names.check_program(program)
    except ProgramError as error:
        raise Damage(f"{at}:", error.problem) from None
    return program


def _check_op_set(data: Json) -> None:
    version = field(field(data, "op_sets", dict, THE_MODEL), "stator", int, "op_sets")
    if version > STATOR_OP_SET:
        own = f"this Stator has {STATOR_OP_SET}"
        raise Damage("op_sets.stator", f"is {version}, and {own}: a newer one is needed")


def _decode_schemas(data: Json) -> dict[str, str]:
    """For people: a program that is to run has had its schemas checked."""
    found = data.get("ops", {})
    return {name: text for name, text in found.items() if isinstance(text, str)}


def _decode_plain(data: Json, key: str) -> dict[str, object]:
    return checked(decode_plain(field(data, key, dict, THE_MODEL), key), dict, key)


def weights_of(text: ModelText) -> Digests:
    """What the text says of the weights that belong to it."""
    found = field(text.data, "weights", dict, THE_MODEL)
    return decode_digests(found, "weights", version=text.version)


def _open_weights(paths: Paths, files: OpenFiles, digests: Digests) -> OpenWeights:
    """The weights that belong to the text, under either of their names."""
    if not files.weights:
        raise FormatError(
            f"{paths.weights} does not exist",
            fix=f"copy it, too: it belongs beside {paths.text.name}",
        )
    faults = []
    for file, descriptor in files.weights:
        fault = digests.fault(descriptor)
        if fault is None:
            return OpenWeights(descriptor, _spans(file, descriptor))
        faults.append((file, fault))
    file, fault = faults[0]
    raise FormatError(f"{file} is damaged, or belongs to another model than {paths.text}: {fault}")


def _spans(file: Path, descriptor: int) -> dict[str, Span]:
    try:
        return read_header(descriptor, os.fstat(descriptor).st_size)
    except Damage as error:
        raise FormatError(f"{file} is damaged: {error}") from None
