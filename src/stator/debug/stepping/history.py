"""History: what names have held, line by line and iteration by iteration.

NOTE: why containers are compared by identity first. A loop that fills a list has it among its names
at each op: to compare and copy all its tensors every time would take time that grows with the
square of the iterations. Tensors are the same if they are the same objects, and nothing has been
written to them since.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from stator.debug.stepping.trail import TrailLine
from stator.location import Location

_UNKNOWN = itertools.count(-1, -1)


@dataclass(frozen=True)
class Seen:
    """The value of a name before the line at `place` ran, in these loop iterations."""

    name: str
    value: Any  # tensors are copies: a later write in place does not change them
    place: Location
    iterations: tuple[int, ...]
    is_after: bool = False  # True where it is known only when the line has run, or part of it

    def __str__(self) -> str:
        iterations = (
            f", iteration {', '.join(map(str, self.iterations))}" if self.iterations else ""
        )
        after = "after " if self.is_after else ""
        return f"{after}{self.place.short}{iterations}: {self.name} = {self.value}"


@dataclass
class _Noted:
    seen: Seen
    is_new: bool  # another value, or another iteration, than noted before


@dataclass(frozen=True)
class _Container:
    """A container as it was noted: its own items, and how often each tensor had been written to."""

    held: Any
    writes: list[int]

    def is_untouched(self, value: Any) -> bool:
        """Has `value` the same items, with nothing written to its tensors since?"""
        return _has_items_of(self.held, value) and self.writes == _writes(value)


class History:
    """Notes what the names of a line hold; `names` are those wanted, None for all."""

    def __init__(self, names: Collection[str] | None = None) -> None:
        self._wanted = names
        self._noted: dict[str, list[_Noted]] = {}
        self._last: dict[tuple[str, str], Seen] = {}
        self._containers: dict[tuple[str, str], _Container] = {}

    def note(self, line: TrailLine, *, begins_line: bool) -> tuple[str, ...]:
        """Keep what the names of `line` hold now; gives those that hold something else."""
        changed = []
        for name, value in line.variables.items():
            if self._wanted is not None and name not in self._wanted:
                continue
            before = self._last.get((line.place.function, name))
            same = before is not None and self._is_same(line.place.function, before, value)
            if same and not begins_line:
                continue
            if same and before is not None:
                kept = before.value
            else:
                kept = self._copied(line.place.function, before, name, value)
            seen = Seen(name, kept, line.place, line.iterations, not begins_line)
            is_new = not same or before is None or before.iterations != line.iterations
            self._last[line.place.function, name] = seen
            self._noted.setdefault(name, []).append(_Noted(seen, is_new))
            if before is not None and not same:
                changed.append(name)
        return tuple(changed)

    def _is_same(self, function: str, before: Seen, value: Any) -> bool:
        container = self._containers.get((function, before.name))
        untouched = container is not None and container.is_untouched(value)
        return untouched or is_same(before.value, value)

    def _copied(self, function: str, before: Seen | None, name: str, value: Any) -> Any:
        """A copy of `value`; the copies of what a list had before are used again."""
        last = self._containers.pop((function, name), None)
        if not isinstance(value, list | tuple | dict):
            return copied(value)
        self._containers[function, name] = _Container(rebuilt(value, _itself), _writes(value))
        if type(value) is not list or last is None or before is None:
            return copied(value)
        count = _common(last, value)
        return [*before.value[:count], *map(copied, value[count:])]

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


def _common(last: _Container, value: list[Any]) -> int:
    """How many items `value` begins with that `last` has too: tensors without a write since."""
    if type(last.held) is not list or len(last.writes) != len(last.held):  # not a list of tensors
        return 0
    pairs = zip(last.held, last.writes, value, strict=False)
    changed = (
        k
        for k, (old, writes, new) in enumerate(pairs)
        if old is not new or writes != _writes_to(new)
    )
    return next(changed, min(len(last.held), len(value)))


def _has_items_of(one: Any, other: Any) -> bool:
    """Is `other` made of the items of `one`? Containers are equal, tensors the same."""
    if one is other:
        return True
    if type(one) is not type(other) or isinstance(one, torch.Tensor):
        return False
    if isinstance(one, list | tuple):
        if len(one) != len(other):
            return False
        return all(map(operator.is_, one, other)) or all(map(_has_items_of, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(_has_items_of(one[key], other[key]) for key in one)
    return isinstance(one, int | float | str) and one == other


def _writes(value: Any) -> list[int]:
    """How often each tensor in `value` has been written to."""
    if isinstance(value, torch.Tensor):
        return [_writes_to(value)]
    if isinstance(value, dict):
        return _writes(list(value.values()))
    if not isinstance(value, list | tuple):
        return []
    if all(isinstance(item, torch.Tensor) for item in value):
        return [_writes_to(item) for item in value]
    return [count for item in value for count in _writes(item)]


def _writes_to(tensor: torch.Tensor) -> int:
    """How often it has been written to; of an inference tensor no one knows, so never the same."""
    return next(_UNKNOWN) if tensor.is_inference() else tensor._version


def copied(value: Any) -> Any:
    """`value` with copies of its tensors and containers."""
    return rebuilt(value, lambda tensor: tensor.detach().clone())


def _itself(tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def rebuilt(value: Any, of_tensor: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """`value` with copies of its containers, and what `of_tensor` gives for its tensors."""
    if isinstance(value, torch.Tensor):
        return of_tensor(value)
    items = partial(rebuilt, of_tensor=of_tensor)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(items, value))
    if isinstance(value, list | tuple):
        return type(value)(map(items, value))
    if isinstance(value, dict):
        return {key: items(item) for key, item in value.items()}
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
