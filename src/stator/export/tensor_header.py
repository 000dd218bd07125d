"""The header of `NAME.safetensors`: what each tensor is, and where its data is. No torch.

Its numbers are checked against the file before they are used.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from stator.export.checking import Damage, checked, field, one_of
from stator.export.encoding import INT_LIMIT, Json
from stator.export.json_text import NotJson, parse

ALIGNMENT = 64  # bytes, of memory that torch's own CPU allocator gives
FILLING = ".filling."  # no module can give a tensor such a name
LENGTH = 8  # bytes at the start of the file, which say how long the header is
HEADER_LIMIT = 2**26  # bytes
MAX_DIMENSIONS = 64


@dataclass(frozen=True)
class StoredDtype:
    """A dtype of the format: the name that torch has for it, and the bytes of a number."""

    name: str
    size: int


DTYPES: Mapping[str, StoredDtype] = MappingProxyType(
    {
        "BOOL": StoredDtype("bool", 1),
        "U8": StoredDtype("uint8", 1),
        "I8": StoredDtype("int8", 1),
        "I16": StoredDtype("int16", 2),
        "U16": StoredDtype("uint16", 2),
        "F16": StoredDtype("float16", 2),
        "BF16": StoredDtype("bfloat16", 2),
        "I32": StoredDtype("int32", 4),
        "U32": StoredDtype("uint32", 4),
        "F32": StoredDtype("float32", 4),
        "F64": StoredDtype("float64", 8),
        "I64": StoredDtype("int64", 8),
        "U64": StoredDtype("uint64", 8),
        "F8_E4M3": StoredDtype("float8_e4m3fn", 1),
        "F8_E5M2": StoredDtype("float8_e5m2", 1),
    }
)


class Span(NamedTuple):
    """Where the data of a tensor is in the file, and what it is."""

    dtype: str  # as torch names it
    shape: tuple[int, ...]
    start: int
    stop: int


def spans_in(file: Path) -> dict[str, Span]:
    """Where the file has the data of each tensor; Damage says what is wrong with its header."""
    with file.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        return read_header(stream.fileno(), size)


def read_header(descriptor: int, size: int) -> dict[str, Span]:
    """The tensors of the open file; Damage says what is wrong with its header."""
    start = LENGTH + int.from_bytes(os.pread(descriptor, LENGTH, 0), "little")
    if size < LENGTH or start > size:
        raise Damage("the header", f"ends at byte {start}, and the file has {size}")
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
    return {name: span for name, span in spans.items() if not name.startswith(FILLING)}


def _span(data: Json, at: str, start: int) -> Span:
    name = field(data, "dtype", str, at)
    dtype = DTYPES.get(name) or DTYPES[one_of(name, DTYPES, f"{at}.dtype")]
    shape = _numbers(data, "shape", at)
    offsets = _numbers(data, "data_offsets", at)
    if len(shape) > MAX_DIMENSIONS or math.prod(filter(None, shape)) * 16 >= INT_LIMIT:
        raise Damage(f"{at}.shape", "is too large")
    if len(offsets) != 2 or offsets[1] - offsets[0] != math.prod(shape) * dtype.size:
        raise Damage(f"{at}.data_offsets", "must be two, as far apart as the shape takes bytes")
    return Span(dtype.name, shape, start + offsets[0], start + offsets[1])


def _numbers(data: Json, key: str, at: str) -> tuple[int, ...]:
    items = field(data, key, list, at)
    for item in items:
        if type(item) is not int or not 0 <= item < INT_LIMIT:
            raise Damage(f"{at}.{key}", "must hold sizes")
    return tuple(items)


def _check_cover(spans: Mapping[str, Span], start: int, size: int) -> None:
    """No byte of the data belongs to two entries, or to none."""
    for name, span in sorted(spans.items(), key=lambda item: (item[1].start, item[1].stop)):
        if span.start != start:
            raise Damage(f"the header.{name}", f"starts at byte {span.start}, not at {start}")
        start = span.stop
    if start != size:
        raise Damage("the header", f"has entries up to byte {start}, and the file has {size}")
