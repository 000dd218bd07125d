"""`NAME.safetensors`: every tensor once; names of one tensor share an entry.

The format has no complex numbers of 128 bits: a complex tensor is stored as its real view, with
a last dimension of two.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import safetensors
import safetensors.torch
import torch

from stator.errors import FormatError


def keys_of(tensors: Mapping[str, torch.Tensor]) -> dict[str, str]:
    """For each name the key of its entry: of all names of one tensor, the first in the alphabet."""
    first: dict[tuple[object, ...], str] = {}
    return {name: first.setdefault(_identity(tensors[name]), name) for name in sorted(tensors)}


def _identity(tensor: torch.Tensor) -> tuple[object, ...]:
    """Equal for two tensors that are one: the same memory, seen in the same way."""
    if tensor.layout != torch.strided or not tensor.numel():
        return (id(tensor),)
    return (tensor.data_ptr(), tensor.device, tensor.dtype, tensor.shape, tensor.stride())


def write_tensors(file: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """A new file that holds `tensors`; the same tensors give the same bytes."""
    storages: set[int] = set()
    plain: dict[str, torch.Tensor] = {}
    for name in sorted(tensors):
        plain[name] = _plain(name, tensors[name])
        storage = plain[name].untyped_storage()
        if storage.data_ptr() in storages or storage.nbytes() != plain[name].nbytes:
            plain[name] = plain[name].clone()  # it shows a part of memory that others show too
        storages.add(storage.data_ptr())
    try:
        safetensors.torch.save_file(plain, file)
    except KeyError as error:
        raise FormatError(f"a tensor of dtype {error.args[0]} cannot be saved") from None


def _plain(name: str, tensor: torch.Tensor) -> torch.Tensor:
    """`tensor` as bytes in their order: dense, contiguous, in main memory, real."""
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise FormatError(f"the tensor `{name}` is sparse or quantized and cannot be saved")
    dense = tensor.detach().cpu().resolve_conj().resolve_neg()
    return (torch.view_as_real(dense) if dense.is_complex() else dense).contiguous()


def read_tensors(file: Path, digest: str) -> dict[str, torch.Tensor] | None:
    """What `file` holds; None if it is not there or does not have this digest.

    The tensors are maps of the file: memory is taken only where they are read or written.
    """
    try:
        stream = file.open("rb")
    except OSError:
        return None
    with stream:
        if hashlib.file_digest(stream, "sha256").hexdigest() != digest:
            return None
        try:
            tensors = _open(file)
            replaced = os.fstat(stream.fileno()).st_ino != file.stat().st_ino
        except OSError:  # a writer took the file away after its digest was read
            return None
        return None if replaced else tensors


def _open(file: Path) -> dict[str, torch.Tensor]:
    try:
        with safetensors.safe_open(file, framework="pt") as opened:
            return {key: _aligned(opened.get_tensor(key)) for key in opened.keys()}  # noqa: SIM118 (no dict)
    except (safetensors.SafetensorError, ValueError, RuntimeError) as error:
        raise FormatError(f"{file} is damaged: {error}") from None


ALIGNMENT = 64  # bytes, of memory that torch's own CPU allocator gives


def _aligned(tensor: torch.Tensor) -> torch.Tensor:
    """`tensor` where torch itself would put it: kernels sum in another order at odd addresses."""
    return tensor if tensor.data_ptr() % ALIGNMENT == 0 else tensor.clone()


def restored(tensor: torch.Tensor, dtype: str) -> torch.Tensor:
    """A stored tensor as it was: complex again if `dtype` is."""
    paired = tensor.dim() > 0 and tensor.shape[-1] == 2 and tensor.is_floating_point()
    return torch.view_as_complex(tensor) if dtype.startswith("complex") and paired else tensor
