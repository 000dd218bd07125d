"""node_of(): the structure of a container, by its entry in the registry."""

from __future__ import annotations

from typing import Any

from stator.program.structure import Mapping, Record, Sequence, Structure
from stator.values.containers import ContainerType


def node_of(
    entry: ContainerType, cls: type, keys: tuple[Any, ...], items: tuple[Structure, ...]
) -> Structure:
    """The structure of an instance of `cls` with these parts."""
    match entry.name:
        case "list" | "tuple":
            return Sequence(entry.name, items)
        case "dict":
            return Mapping(keys, items)
        case "namedtuple" | "dataclass" | "object":
            return Record(entry.name, f"{cls.__module__}:{cls.__qualname__}", keys, items)
    raise TypeError(f"a program cannot take or give a {entry.name}")
