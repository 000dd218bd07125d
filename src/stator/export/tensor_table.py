"""The table of tensors in `NAME.stator`, as it is written: what each name is, and its key."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import torch

from stator.errors import FormatError
from stator.export.encoding import Json
from stator.export.tensor_entries import Entry, TensorKind
from stator.program.program import Program


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
