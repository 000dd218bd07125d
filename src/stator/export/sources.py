"""The source that a saved model may have: runs of lines, by the names of files. It is only text.

No program depends on it, and no runtime needs it: it is there for people and for the viewer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from stator.errors import FormatError
from stator.export.checking import Damage, checked, field, texts
from stator.export.encoding import Json

SOURCE_LIMIT = 2**22  # characters in one model


@dataclass(frozen=True)
class SourceRun:
    """Lines of a file that follow each other."""

    first: int  # the number of the first line
    lines: tuple[str, ...]


EmbeddedSources = Mapping[str, tuple[SourceRun, ...]]
NO_SOURCES: EmbeddedSources = MappingProxyType({})


def encode_sources(sources: EmbeddedSources) -> Json:
    """The table of sources; FormatError if it is too large for a file."""
    if (size := _size_of(sources)) > SOURCE_LIMIT:
        raise FormatError(
            f"the source of the functions has {size} characters, "
            f"and a file may have {SOURCE_LIMIT}",
            fix="save without embed_source",
        )
    return {
        name: [{"first": run.first, "lines": list(run.lines)} for run in sources[name]]
        for name in sorted(sources)
    }


def decode_sources(data: Json, at: str) -> EmbeddedSources:
    """The sources that a file has; Damage if they are not lines of text, or too many."""
    found = {
        name: tuple(
            _decode_run(item, f"{at}.{name}[{index}]")
            for index, item in enumerate(checked(runs, list, f"{at}.{name}"))
        )
        for name, runs in checked(data, dict, at).items()
    }
    if _size_of(found) > SOURCE_LIMIT:
        raise Damage(at, f"has more than {SOURCE_LIMIT} characters")
    return MappingProxyType(found)


def _decode_run(data: Json, at: str) -> SourceRun:
    first = field(data, "first", int, at)
    if first < 1:
        raise Damage(f"{at}.first", "must be 1 or more")
    return SourceRun(first, texts(field(data, "lines", list, at), f"{at}.lines"))


def _size_of(sources: EmbeddedSources) -> int:
    return sum(len(line) + 1 for runs in sources.values() for run in runs for line in run.lines)
