"""write_model() and read_model(): programs and tensors <-> `NAME.stator` and `NAME.safetensors`.

Reading runs nothing from the files: no pickle, no import, no lookup but of registered ops.
`docs/format.md` describes both files for readers in any language.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch

from stator.errors import FormatError
from stator.export.checking import Damage
from stator.export.contents import (
    TEXT_LIMIT,
    VERSION,
    ModelContents,
    damage_named,
    decode_contents,
    parse_text,
    weights_of,
)
from stator.export.digests import Digests, digests_of, encode_digests
from stator.export.encoding import Json, encode_plain, encode_program
from stator.export.files import Paths, locked, opened, put_in_place, remove_leftovers, temporary
from stator.export.json_text import MEMORY_FLOOR, memory_needed
from stator.export.methods import Method, encode_methods, methods_of
from stator.export.op_calls import TorchNames
from stator.export.op_table import encode_ops, op_set_of
from stator.export.sources import NO_SOURCES, EmbeddedSources, encode_sources
from stator.export.states import SavedState, decode_states, encode_states, state_tensors
from stator.export.tensor_file import keys_of, map_tensors, named_tensors, write_tensors
from stator.export.tensor_table import encode_table, entries_of
from stator.program.program import Program
from stator.recursion_limit import more_frames
from stator.requirements import installed_version

STATELESS_VERSION = 3  # a model without state is written so that earlier readers read it
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class SavedModel(ModelContents):
    """What a model's files hold; names of tied tensors give one and the same tensor."""

    tensors: Mapping[str, torch.Tensor]
    states: Mapping[str, SavedState]


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
    versions = {"stator": installed_version(), "torch": torch.__version__.partition("+")[0]}
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
            return weights_of(parse_text(paths, files))
    except (FormatError, Damage):  # nothing there that could be loaded
        return None


def read_model(path: str | os.PathLike[str], *, verify_weights: bool = True) -> SavedModel:
    """The model at `path`, checked; FormatError names the file and the place of what is wrong.

    Without `verify_weights` the size of the weights is compared, and their digests are not.
    """
    paths = Paths.of(path)
    with opened(paths) as files, damage_named(paths.text):
        text, names = parse_text(paths, files), TorchNames()
        contents, weights = decode_contents(text, files, names, verified=verify_weights)
        tensors = named_tensors(contents.names, map_tensors(weights.descriptor, weights.spans))
        states = text.data.get("states", {}) if text.version > 3 else {}
        return SavedModel(
            **{one.name: getattr(contents, one.name) for one in dataclasses.fields(contents)},
            tensors=MappingProxyType(tensors),
            states=MappingProxyType(
                decode_states(states, contents.programs, tensors, text.dialect(names))
            ),
        )
