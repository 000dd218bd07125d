"""The table of tensors in `NAME.stator`: what each name is, and where its data stands."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

import torch

from stator.errors import FormatError
from stator.export.checking import Damage, check_depth, field, one_of
from stator.export.decoding import decode_literal, decode_shape, decode_size
from stator.export.encoding import Json
from stator.export.tensor_file import restored
from stator.program.program import Program
from stator.program.types import TensorType

KINDS = ("parameter", "buffer", "constant", "state")
TensorKind = Literal["parameter", "buffer", "constant", "state"]


@dataclass(frozen=True)
class Entry:
    """What a model says of a tensor, beside its data."""

    kind: TensorKind
    requires_grad: bool
    persistent: bool  # part of the module's state_dict


def entries_of(
    programs: Mapping[str, Program],
    tensors: Mapping[str, torch.Tensor],
    requires_grad: Mapping[str, bool],
    transient: Collection[str],
    state: Collection[str] = (),
) -> dict[str, Entry]:
    """An entry for each tensor; its kind is that of the programs, if one of them uses it."""
    used: dict[str, TensorKind] = {
        stored.name: stored.kind for program in programs.values() for stored in program.stored
    }
    for name, found in used.items():
        if name not in tensors:
            raise FormatError(f"the program needs the {found} `{name}`, and no tensor was given",
                              fix="pass every tensor that the program stores")  # fmt: skip
    entries = {}
    for name, tensor in tensors.items():
        own: TensorKind = "parameter" if isinstance(tensor, torch.nn.Parameter) else "buffer"
        kind = "state" if name in state else used.get(name, own)
        persistent = kind not in ("constant", "state") and name not in transient
        entries[name] = Entry(kind, requires_grad.get(name, tensor.requires_grad), persistent)
    return entries


def encode_table(
    entries: Mapping[str, Entry], tensors: Mapping[str, torch.Tensor], keys: Mapping[str, str]
) -> Json:
    """The table, in the order of the module that owns them (an optimizer counts on it)."""
    return {
        name: {
            "key": keys[name],
            "dtype": dtype_name(tensors[name]),
            "shape": list(tensors[name].shape),
            "kind": entries[name].kind,
            "requires_grad": entries[name].requires_grad,
            "persistent": entries[name].persistent,
        }
        for name in entries
    }


def dtype_name(tensor: torch.Tensor) -> str:
    """`float32`."""
    return str(tensor.dtype).removeprefix("torch.")


def decode_entry(data: Json, at: str) -> Entry:
    """What the table says of one tensor."""
    kind = one_of(field(data, "kind", str, at), KINDS, f"{at}.kind")
    flags = (field(data, name, bool, at) for name in ("requires_grad", "persistent"))
    return Entry(kind, *flags)  # type: ignore[arg-type] # checked


def decode_tensors(table: Json, stored: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The tensors by name; names with one key give one tensor."""
    made: dict[str, torch.Tensor] = {}
    tensors = {}
    for name, item in table.items():
        at = f"tensors.{name}"
        check_depth(name.count("."), at[:200])
        key, dtype = field(item, "key", str, at), field(item, "dtype", str, at)
        if key not in stored:
            raise Damage(at, f"names the key {key!r}, which the weights lack")
        tensors[name] = made.setdefault(key, restored(stored[key], dtype))
        _check_tensor(tensors[name], item, at)
    if unused := sorted(stored.keys() - made.keys()):
        raise Damage("tensors", f"has no entry for the key {unused[0]!r} of the weights")
    return tensors


def _check_tensor(tensor: torch.Tensor, item: Json, at: str) -> None:
    dtype = decode_literal("dtype", field(item, "dtype", str, at), at).text
    declared = TensorType(dtype, decode_shape(item, at, decode_size))
    found = TensorType(dtype_name(tensor), tuple(tensor.shape))
    if declared != found:
        raise Damage(at, f"is {declared}, and in the weights {found}")
    if field(item, "requires_grad", bool, at) and not (
        tensor.is_floating_point() or tensor.is_complex()
    ):
        raise Damage(at, f"is {declared}, which cannot require gradients")


def check_stored(programs: Mapping[str, Program], tensors: Mapping[str, torch.Tensor]) -> None:
    """Damage if a program needs a tensor that is not there, or that is of another type."""
    for program_name, program in programs.items():
        for stored in program.stored:
            at = f"programs.{program_name}.stored"
            if stored.name not in tensors:
                raise Damage(at, f"needs the {stored.kind} `{stored.name}`, which is not there")
            kind, tensor = stored.value.type, tensors[stored.name]
            if not isinstance(kind, TensorType) or not _is_of(tensor, kind):
                raise Damage(at, f"takes `{stored.name}` for {kind}")


def _is_of(tensor: torch.Tensor, kind: TensorType) -> bool:
    return (
        dtype_name(tensor) == kind.dtype
        and tensor.dim() == len(kind.shape)
        and all(
            not isinstance(size, int) or size == found
            for size, found in zip(kind.shape, tensor.shape, strict=True)
        )
    )
