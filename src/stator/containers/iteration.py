"""Iteration over what only a run can count: captured ranges, tensors, lists, zips of these, ..."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from stator.capture.flatten import list_of
from stator.capture.numbers import both, either
from stator.capture.recorder import Recorder
from stator.capture.text_ops import character, text_length
from stator.containers.lists import list_get, list_length
from stator.containers.tensor_index import read_tensor
from stator.errors import UnsupportedCall
from stator.values.annotations import Staged
from stator.values.arrays import CapturedArray, KnownArray, array_item
from stator.values.staged import Columns, StagedList, StagedSet, is_table
from stator.values.symbolic import CannotLeave, CapturedText, StandIn

UNROLLED_ROWS = 64  # a tensor with more rows than this is looped over by the program


@dataclass(frozen=True)
class Indexed(StandIn):
    """A sequence that is read by number: `more(k)` says whether there is an item k."""

    more: Callable[[Any], Any]
    item: Callable[[Any], Any]
    length: Callable[[], Any]


@dataclass(frozen=True)
class CapturedRange(CannotLeave):
    """`range` with bounds that only a run knows."""

    what: ClassVar[str] = "range with data-dependent bounds"

    start: Any
    stop: Any
    step: Any

    def given(self) -> tuple[str, Callable[[Any], Any], Any]:
        """The range that it is."""
        return "range", _range_of, (self.start, self.stop, self.step)

    def more(self, index: object) -> Staged:
        """Is there an item `index`?"""
        at = self.start + index * self.step
        if isinstance(self.step, int):
            return at < self.stop if self.step > 0 else at > self.stop
        up = both(self.step > 0, at < self.stop)
        return either(up, both(self.step < 0, at > self.stop))

    def item(self, index: object) -> Staged:
        """Item `index`."""
        return self.start + index * self.step

    def length(self) -> Staged:
        """How many items there are."""
        if not isinstance(self.step, int):
            raise TypeError("the length of a range with a captured step")
        distance = self.stop - self.start if self.step > 0 else self.start - self.stop
        size = abs(self.step)
        return torch.sym_max((distance + size - 1) // size, 0)


def _range_of(bounds: tuple[int, int, int]) -> range:
    return range(*bounds)


def indexed(recorder: Recorder, value: object, *, recorded: bool = False) -> Indexed | None:
    """`value` as a sequence of the program; None where Python can iterate over it.

    `recorded` asks for a sequence of the program also where Python could.
    """
    if isinstance(value, Indexed):
        return value
    if isinstance(value, range) and recorded:
        value = CapturedRange(value.start, value.stop, value.step)
    if isinstance(value, CapturedRange):
        return Indexed(value.more, value.item, value.length)
    if isinstance(value, KnownArray) and value.memory.is_known and not recorder.depth:
        return None
    if isinstance(value, CapturedArray):
        return _array_items(value.tensor)
    if isinstance(value, torch.Tensor):
        return _rows(value)
    if isinstance(value, StagedList) and value.is_open:
        return _captured_list(recorder, value)
    if is_table(value):
        return _keys(recorder, value)
    if isinstance(value, CapturedText):
        return _characters(recorder, value)
    return None


def _characters(recorder: Recorder, text: CapturedText) -> Indexed:
    length = text_length(recorder, text)
    return Indexed(lambda k: k < length, lambda k: character(recorder, text, k), lambda: length)


def _keys(recorder: Recorder, table: Staged) -> Indexed:
    """The keys of a dict of the program, in their order; a set has none that a run could have."""
    if isinstance(table, StagedSet):
        raise UnsupportedCall("a set with data-dependent items cannot be iterated in Python order",
                              fix="loop over `sorted(...)` of it, or use a list")  # fmt: skip
    assert table.columns is not None
    pairs = list_of(Columns(table.columns.item, table.columns.values))
    return mapped(lambda pair: pair[0], _captured_list(recorder, pairs))


def _array_items(tensor: torch.Tensor) -> Indexed:
    """The rows of an array, or its numbers as they are when they are taken."""
    if tensor.dim() == 0:
        raise TypeError("iteration over a 0-d array")
    count = tensor.shape[0]
    return Indexed(
        lambda k: k < count, lambda k: array_item(read_tensor(tensor, k), k), lambda: count
    )


def _rows(tensor: torch.Tensor) -> Indexed | None:
    if tensor.dim() == 0:
        raise TypeError("iteration over a 0-d tensor")
    rows = tensor.shape[0]
    if isinstance(rows, int) and rows <= UNROLLED_ROWS:
        return None
    return Indexed(lambda k: k < rows, lambda k: read_tensor(tensor, k), lambda: rows)


def _captured_list(recorder: Recorder, items: StagedList) -> Indexed:
    def length() -> Staged:
        return list_length(recorder, items) if items.is_open else len(items)

    return Indexed(lambda k: k < length(), lambda k: list_get(recorder, items, k), length)


def enumerated(items: Indexed, start: object) -> Indexed:
    """`enumerate(items, start)`."""
    return Indexed(items.more, lambda k: (start + k, items.item(k)), items.length)


def zipped(parts: list[Indexed]) -> Indexed:
    """`zip(*parts)`."""

    def more(index: object) -> Staged:
        conditions = [part.more(index) for part in parts]
        return functools.reduce(both, conditions)

    def length() -> Staged:
        shortest = parts[0].length()
        for part in parts[1:]:
            shortest = torch.sym_min(shortest, part.length())
        return shortest

    return Indexed(more, lambda k: tuple(part.item(k) for part in parts), length)


def reversed_items(items: Indexed) -> Indexed:
    """`reversed(items)`."""
    last = items.length() - 1
    return Indexed(lambda k: k <= last, lambda k: items.item(last - k), lambda: last + 1)


def mapped(function: Callable[..., object], items: Indexed) -> Indexed:
    """`map(function, items)`."""
    return Indexed(items.more, lambda k: function(items.item(k)), items.length)


def of_python(recorder: Recorder, values: Staged) -> Indexed:
    """A Python sequence beside captured ones; it is read by number."""
    known = list(values)

    def item(k: object) -> Staged:
        return known[k] if isinstance(k, int) else list_get(recorder, known, k)

    return Indexed(lambda k: k < len(known), item, lambda: len(known))
