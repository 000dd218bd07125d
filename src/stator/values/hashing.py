"""hashed_fields(): what the `__hash__` that `@dataclass` generates asks for its hash.

@dataclass(frozen=True)
class State:        # State(row, column) as a key of a dict
    row: int
    column: int
"""

from __future__ import annotations

import dataclasses
import types
from typing import Any

from stator.values.pooled import PooledObject


def hashed_fields(obj: Any) -> tuple[object, ...]:
    """The values of these fields; none where the hash is not a generated one."""
    cls = obj.__class__  # that of a handle is the user's
    written = cls.__hash__
    if not dataclasses.is_dataclass(cls) or not isinstance(written, types.FunctionType):
        return ()
    if not written.__code__.co_filename.startswith("<"):
        return ()
    names = [field.name for field in dataclasses.fields(cls) if _is_hashed(field)]
    return tuple(getattr(obj, name) for name in names)


def is_hashed_by_run(obj: Any) -> bool:
    """Is it such an object, which may be in a list that only a run has?"""
    return isinstance(obj, PooledObject) and bool(hashed_fields(obj))


def _is_hashed(field: dataclasses.Field[Any]) -> bool:
    return field.compare if field.hash is None else field.hash
