"""Digests: the SHA-256 of each chunk of a file, so that threads can check them side by side."""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from stator.export.checking import Damage, checked, field, texts
from stator.export.encoding import INT_LIMIT, Json

CHUNK = 2**22  # bytes
THREADS = 4


@dataclass(frozen=True)
class Digests:
    """What a file must be: its size, and the digest of each chunk of it."""

    size: int
    chunk: int
    chunks: tuple[str, ...]

    def fault(self, descriptor: int) -> str | None:
        """How the open file differs from this; None if it does not."""
        size = os.fstat(descriptor).st_size
        if size != self.size:
            return f"it has {size} bytes, and {self.size} are named there"
        if not self.chunks:
            return None
        found = _chunk_digests(descriptor, self.size, self.chunk)
        for index, (mine, other) in enumerate(zip(self.chunks, found, strict=True)):
            if mine != other:
                start, stop = index * self.chunk, min((index + 1) * self.chunk, size)
                return f"its bytes {start} to {stop - 1} do not have the digest named there"
        return None

    def only_size(self) -> Digests:
        """The same, without the digests."""
        return Digests(self.size, self.chunk, ())


def digests_of(file: Path) -> Digests:
    """The digests of what `file` holds now."""
    with file.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        return Digests(size, CHUNK, tuple(_chunk_digests(stream.fileno(), size, CHUNK)))


def _chunk_digests(descriptor: int, size: int, chunk: int) -> Iterator[str]:
    if not size:
        return
    with mmap.mmap(descriptor, size, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as data:

        def digest(start: int) -> str:
            with data[start : start + chunk] as part:
                return hashlib.sha256(part).hexdigest()

        starts = range(0, size, chunk)
        with ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1)) as threads:
            yield from threads.map(digest, starts) if len(starts) > 1 else map(digest, starts)


def encode_digests(digests: Digests) -> Json:
    """`{"bytes": size, "chunk": size of a chunk, "sha256": digests}`."""
    return {"bytes": digests.size, "chunk": digests.chunk, "sha256": list(digests.chunks)}


def decode_digests(data: Json, at: str, *, version: int) -> Digests:
    """What a text says of its weights; version 1 has one digest of the whole file."""
    size = _natural(data, "bytes", at)
    if version == 1:
        return Digests(size, max(size, 1), (field(data, "sha256", str, at),) if size else ())
    chunk = _natural(data, "chunk", at)
    chunks = texts(field(data, "sha256", list, at), f"{at}.sha256")
    if not chunk or len(chunks) != -(-size // chunk):
        raise Damage(f"{at}.sha256", f"must have a digest for each {chunk} of {size} bytes")
    return Digests(size, chunk, chunks)


def _natural(data: Json, key: str, at: str) -> int:
    number = checked(field(data, key, int, at), int, f"{at}.{key}")
    if not 0 <= number < INT_LIMIT:
        raise Damage(f"{at}.{key}", "must be a size")
    return number
