"""`NAME.safetensors`: every tensor once; names of one tensor share an entry.

NOTE: why the file is written and read here. It is an ordinary safetensors file, but every tensor
begins at a multiple of 64 bytes, where torch itself would put it (kernels sum in another order at
odd addresses) and where a native reader can use the mapped file as it is. That takes filling
between tensors: entries of bytes, whose names begin with `.filling.`. And the file that is mapped
is the open one whose digests were checked, not another that has its name by now.

The format has no complex numbers of 128 bits: a complex tensor is stored as its real view, with
a last dimension of two.
"""

from __future__ import annotations

import json
import math
import mmap
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import torch

from stator.errors import FormatError
from stator.export.tensor_entries import TensorNames
from stator.export.tensor_header import ALIGNMENT, DTYPES, FILLING, LENGTH, Span

NAMES: Mapping[torch.dtype, str] = MappingProxyType(
    {getattr(torch, dtype.name): name for name, dtype in DTYPES.items()}
)


def keys_of(tensors: Mapping[str, torch.Tensor]) -> dict[str, str]:
    """For each name the key of its entry: of all names of one tensor, the first in the alphabet."""
    first: dict[tuple[object, ...], str] = {}
    return {name: first.setdefault(_identity(tensors[name]), name) for name in sorted(tensors)}


def _identity(tensor: torch.Tensor) -> tuple[object, ...]:
    """Equal for two tensors that are one: the same memory, seen in the same way."""
    if tensor.layout != torch.strided or not tensor.numel() or tensor.is_meta:
        return (id(tensor),)
    return (tensor.data_ptr(), tensor.device, tensor.dtype, tensor.shape, tensor.stride())


def write_tensors(file: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """A new file that holds `tensors`; the same tensors give the same bytes."""
    header, start = {}, 0
    for name in sorted(tensors):
        dtype, shape, size = _form(name, tensors[name])
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, start + size]}
        start += size
        if gap := -start % ALIGNMENT:
            offsets = [start, start + gap]
            header[f"{FILLING}{start}"] = {"dtype": "U8", "shape": [gap], "data_offsets": offsets}
            start += gap
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-(LENGTH + len(text)) % ALIGNMENT)
    with file.open("xb") as stream:
        stream.write(len(text).to_bytes(LENGTH, "little") + text)
        for name in sorted(tensors):
            data = _plain(tensors[name]).view(torch.uint8).numpy().data
            stream.write(data)
            stream.write(bytes(-len(data) % ALIGNMENT))


def _form(name: str, tensor: torch.Tensor) -> tuple[str, list[int], int]:
    """The dtype, the shape and the number of bytes that `tensor` has in the file."""
    if name.startswith(FILLING):
        raise FormatError(f"a tensor cannot be saved under the name `{name}`",
                          fix="give it another name in its module")  # fmt: skip
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise FormatError(f"the tensor `{name}` is sparse or quantized and cannot be saved",
                          fix="make it dense: `.to_dense()`, `.dequantize()`")  # fmt: skip
    if tensor.is_meta:
        raise FormatError(f"the tensor `{name}` is on the meta device and has no data to save",
                          fix="give it data first: `module.to_empty(device=...)`")  # fmt: skip
    dtype, shape = tensor.dtype, list(tensor.shape)
    if dtype.is_complex:
        dtype, shape = dtype.to_real(), [*shape, 2]
    if dtype not in NAMES:
        raise FormatError(f"a tensor of dtype {tensor.dtype} cannot be saved",
                          fix="convert it: `.to(torch.float32)`")  # fmt: skip
    return NAMES[dtype], shape, math.prod(shape) * dtype.itemsize


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """The items of `tensor` in their order, in one dimension, in main memory, real.

    NOTE: a tensor with one item or none may have any stride, and counts as contiguous.
    """
    dense = tensor.detach().cpu().resolve_conj().resolve_neg()
    real = (torch.view_as_real(dense) if dense.is_complex() else dense).contiguous()
    return real.as_strided((real.numel(),), (1,))


def map_tensors(descriptor: int, spans: Mapping[str, Span]) -> dict[str, torch.Tensor]:
    """The tensors at `spans` of the open file.

    They are maps of the file: memory is taken only where they are read or written.
    """
    if not spans:
        return {}
    mapped = mmap.mmap(descriptor, os.fstat(descriptor).st_size, access=mmap.ACCESS_COPY)
    return {name: _map(mapped, span) for name, span in spans.items()}


def _map(mapped: mmap.mmap, span: Span) -> torch.Tensor:
    if span.start == span.stop:
        return torch.empty(span.shape, dtype=getattr(torch, span.dtype))
    dtype = getattr(torch, span.dtype)
    if span.start % ALIGNMENT:  # a file of version 1, or of another writer
        count = span.stop - span.start
        data = torch.frombuffer(mapped, dtype=torch.uint8, count=count, offset=span.start)
        return data.clone().view(dtype).view(span.shape)
    count = math.prod(span.shape)
    return torch.frombuffer(mapped, dtype=dtype, count=count, offset=span.start).view(span.shape)


def named_tensors(
    names: TensorNames, stored: Mapping[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """The tensors of a model by name; names with one key give one tensor."""
    by_key = {
        key: restored(stored[key], names.types[name].dtype) for name, key in names.keys.items()
    }
    return {name: by_key[key] for name, key in names.keys.items()}


def restored(tensor: torch.Tensor, dtype: str) -> torch.Tensor:
    """A stored tensor as it was: complex again if `dtype` is."""
    if not dtype.startswith("complex"):
        return tensor
    paired = tensor.dim() > 0 and tensor.shape[-1] == 2 and tensor.is_floating_point()
    return torch.view_as_complex(tensor) if paired else tensor
