"""`NAME.safetensors`: every tensor once; names of one tensor share an entry.

NOTE: why the file is written and read here. It is an ordinary safetensors file, but every tensor
stands at a multiple of 64 bytes, where torch itself would put it (kernels sum in another order at
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
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import torch

from stator.errors import FormatError
from stator.export.checking import Damage, checked, field, one_of
from stator.export.encoding import INT_LIMIT, Json
from stator.export.json_text import NotJson, parse

ALIGNMENT = 64  # bytes, of memory that torch's own CPU allocator gives
FILLING = ".filling."  # no module can give a tensor such a name
LENGTH = 8  # bytes at the start of the file, which say how long the header is
HEADER_LIMIT = 2**26  # bytes
MAX_DIMENSIONS = 64
DTYPES: Mapping[str, torch.dtype] = MappingProxyType(
    {
        "BOOL": torch.bool, "U8": torch.uint8, "I8": torch.int8, "I16": torch.int16,
        "U16": torch.uint16, "F16": torch.float16, "BF16": torch.bfloat16, "I32": torch.int32,
        "U32": torch.uint32, "F32": torch.float32, "F64": torch.float64, "I64": torch.int64,
        "U64": torch.uint64, "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2,
    }
)  # fmt: skip
NAMES = MappingProxyType({dtype: name for name, dtype in DTYPES.items()})


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
            data = _plain(tensors[name]).reshape(-1).view(torch.uint8).numpy().data
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
    """`tensor` as bytes in their order: contiguous, in main memory, real."""
    dense = tensor.detach().cpu().resolve_conj().resolve_neg()
    return (torch.view_as_real(dense) if dense.is_complex() else dense).contiguous()


@dataclass(frozen=True)
class Span:
    """Where the data of a tensor is in the file, and what it is."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    start: int
    stop: int


def map_tensors(descriptor: int) -> dict[str, torch.Tensor]:
    """What the open file holds; Damage says what is wrong with its header.

    The tensors are maps of the file: memory is taken only where they are read or written.
    """
    size = os.fstat(descriptor).st_size
    spans = _read_header(descriptor, size)
    if not spans:
        return {}
    mapped = mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY)
    return {
        name: _map(mapped, span) for name, span in spans.items() if not name.startswith(FILLING)
    }


def spans_in(file: Path) -> dict[str, Span]:
    """Where the file has the data of each tensor; Damage says what is wrong with its header."""
    with file.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        return _read_header(stream.fileno(), size)


def _map(mapped: mmap.mmap, span: Span) -> torch.Tensor:
    if span.start == span.stop:
        return torch.empty(span.shape, dtype=span.dtype)
    count = span.stop - span.start
    data = torch.frombuffer(mapped, dtype=torch.uint8, count=count, offset=span.start)
    if span.start % ALIGNMENT:  # a file of version 1, or of another writer
        data = data.clone()
    return data.view(span.dtype).view(span.shape)


def _read_header(descriptor: int, size: int) -> dict[str, Span]:
    """Every entry of the header, its numbers checked against the file before they are used."""
    start = LENGTH + int.from_bytes(os.pread(descriptor, LENGTH, 0), "little")
    if size < LENGTH or start > size:
        raise Damage("the header", f"is said to end at byte {start}, and the file has {size}")
    if start > HEADER_LIMIT:
        raise Damage("the header", f"is longer than {HEADER_LIMIT} bytes")
    try:
        data = parse(os.pread(descriptor, start - LENGTH, LENGTH), size=size)
    except NotJson as error:
        raise Damage("the header:", str(error)) from None
    items = checked(data, dict, "the header").items()
    spans = {
        name: _span(item, f"the header.{name}", start)
        for name, item in items
        if name != "__metadata__"
    }
    _check_cover(spans, start, size)
    return spans


def _span(data: Json, at: str, start: int) -> Span:
    dtype = DTYPES[one_of(field(data, "dtype", str, at), DTYPES, f"{at}.dtype")]
    shape = _numbers(field(data, "shape", list, at), f"{at}.shape")
    offsets = _numbers(field(data, "data_offsets", list, at), f"{at}.data_offsets")
    if len(shape) > MAX_DIMENSIONS or math.prod(max(n, 1) for n in shape) * 16 >= INT_LIMIT:
        raise Damage(f"{at}.shape", "is too large")
    if len(offsets) != 2 or offsets[1] - offsets[0] != math.prod(shape) * dtype.itemsize:
        raise Damage(f"{at}.data_offsets", "must be two, as far apart as the shape takes bytes")
    return Span(dtype, shape, start + offsets[0], start + offsets[1])


def _numbers(items: list[Json], at: str) -> tuple[int, ...]:
    if any(type(item) is not int or not 0 <= item < INT_LIMIT for item in items):
        raise Damage(at, "must hold sizes")
    return tuple(items)


def _check_cover(spans: Mapping[str, Span], start: int, size: int) -> None:
    """No byte of the data belongs to two entries, or to none."""
    for name, span in sorted(spans.items(), key=lambda item: (item[1].start, item[1].stop)):
        if span.start != start:
            raise Damage(f"the header.{name}", f"starts at byte {span.start}, not at {start}")
        start = span.stop
    if start != size:
        raise Damage("the header", f"has entries up to byte {start}, and the file has {size}")


def restored(tensor: torch.Tensor, dtype: str) -> torch.Tensor:
    """A stored tensor as it was: complex again if `dtype` is."""
    paired = tensor.dim() > 0 and tensor.shape[-1] == 2 and tensor.is_floating_point()
    return torch.view_as_complex(tensor) if dtype.startswith("complex") and paired else tensor
