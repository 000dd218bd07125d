"""History: what names have held, line by line and trip by trip."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import torch

from stator.debug.stepping.trail import TrailLine
from stator.location import Location


@dataclass(frozen=True)
class Seen:
    """What a name held before the line at `place` ran, in these iterations of the loops."""

    name: str
    value: Any  # tensors are copies: a later write in place does not change them
    place: Location
    trips: tuple[int, ...]
    is_after: bool = False  # True where it is known only when the line has run, or part of it

    def __str__(self) -> str:
        trips = f", iteration {', '.join(map(str, self.trips))}" if self.trips else ""
        after = "after " if self.is_after else ""
        return f"{after}{self.place.short}{trips}: {self.name} = {self.value}"


@dataclass
class _Noted:
    seen: Seen
    is_new: bool  # another value, or another trip, than noted before


class History:
    """Notes what the names of a line hold; `names` are those wanted, None for all."""

    def __init__(self, names: Collection[str] | None = None) -> None:
        self._wanted = names
        self._noted: dict[str, list[_Noted]] = {}
        self._last: dict[tuple[str, str], Seen] = {}

    def note(self, line: TrailLine, *, begins_line: bool) -> tuple[str, ...]:
        """Keep what the names of `line` hold now; gives those that hold something else."""
        changed = []
        for name, value in line.variables.items():
            if self._wanted is not None and name not in self._wanted:
                continue
            before = self._last.get((line.place.function, name))
            same = before is not None and is_same(before.value, value)
            if same and not begins_line:
                continue
            kept = before.value if same and before is not None else copied(value)
            seen = Seen(name, kept, line.place, line.trips, not begins_line)
            is_new = not same or before is None or before.trips != line.trips
            self._last[line.place.function, name] = seen
            self._noted.setdefault(name, []).append(_Noted(seen, is_new))
            if before is not None and not same:
                changed.append(name)
        return tuple(changed)

    def values(self, name: str, *, line: int | None, function: str | None) -> list[Seen]:
        """Each value of a name in the order of the run; with `line`, each time that it begins."""
        return [
            noted.seen
            for noted in self._noted.get(name, ())
            if function in (None, noted.seen.place.function)
            and (noted.is_new if line is None else _begins(noted, line))
        ]

    @property
    def names(self) -> tuple[str, ...]:
        """The names that have held something."""
        return tuple(self._noted)


def _begins(noted: _Noted, line: int) -> bool:
    return not noted.seen.is_after and noted.seen.place.line == line


def copied(value: Any) -> Any:
    """`value` with copies of its tensors and containers."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(copied, value))
    if isinstance(value, list | tuple):
        return type(value)(map(copied, value))
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return value


def is_same(one: Any, other: Any) -> bool:
    """Are two values equal, to the bit but for NaNs, in type and contents?"""
    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        return bool(((one == other) | ((one != one) & (other != other))).all())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(is_same(one[key], other[key]) for key in one)
    return one is other or bool(one == other) or bool(one != one and other != other)
