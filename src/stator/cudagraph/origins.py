"""Origins: which results of a region are inputs of it, or views of them, and not new tensors.

`y = x if c else x * 2` gives `x` itself on one path. What a region gives is copied out of the
memory of the graph, so a caller who writes to `y` would not change `x`. Where a caller can see
that, the graph also computes a tag for the result: the number of an alternative, or `NEW`. The host
reads the tags after a replay, once, and gives the input in the place of the copy.

A tag is an `int` where it is the same in every run, or else a tensor on the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from stator.cudagraph.memory import memory_of

NEW = -1
Tag = int | torch.Tensor


@dataclass(frozen=True, slots=True)
class Alternative:
    """An input, or a view of it."""

    number: int  # of the input
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int  # from where the input begins

    def of(self, inputs: Sequence[torch.Tensor]) -> torch.Tensor:
        """It, for the inputs of a call."""
        given = inputs[self.number]
        if (self.sizes, self.strides, self.offset) == (tuple(given.shape), given.stride(), 0):
            return given
        offset = given.storage_offset() + self.offset
        return given.as_strided(self.sizes, self.strides, offset)


class Origins:
    """The tags of the tensors of one recording."""

    def __init__(self, inputs: Sequence[torch.Tensor]) -> None:
        self.alternatives: list[Alternative] = []
        self.read: set[int] = set()  # storages of tensors whose tags on the device were asked for
        self._inputs = inputs
        self._tags: dict[int, tuple[torch.Tensor, Tag]] = {}  # by storage

    def tag_of(self, tensor: torch.Tensor) -> Tag | None:
        """The tag of a tensor; None if it cannot be told."""
        storage = memory_of(tensor)
        if storage in self._tags:
            known, tag = self._tags[storage]
            self.read.add(storage)
            is_whole = is_always_new(tag) or _layout(known) == _layout(tensor)
            return tag if is_whole else None
        for number, given in enumerate(self._inputs):
            if memory_of(given) == storage and tensor.numel():
                sizes, strides, offset = _layout(tensor)
                found = Alternative(number, sizes, strides, offset - int(given.storage_offset()))
                if found not in self.alternatives:
                    self.alternatives.append(found)
                return self.alternatives.index(found)
        return NEW

    def set(self, tensor: torch.Tensor, tag: Tag) -> None:
        """The tag of a tensor that has memory of its own."""
        self._tags[memory_of(tensor)] = (tensor, tag)


class LoopTags:
    """The tags of what a loop carries, in memory that its iterations read and write.

    What an iteration makes is new, as a rule. Then nothing has to be written in it: a result is
    what the loop was given if there was no iteration, or else new.
    """

    def __init__(
        self,
        origins: Origins,
        carried: Sequence[torch.Tensor],
        is_tracked: Sequence[bool],
        first: Sequence[Tag],
        test: torch.Tensor,
    ) -> None:
        self._origins, self._carried, self._first = origins, carried, first
        tags = first if any(is_tracked) else ()
        self._places = [tag_tensor(tag, test.device).clone() for tag in tags]
        self._runs = test.clone() if self._places else test  # whether there is an iteration
        self._simple: set[int] = set()
        self._numbers = [number for number, is_one in enumerate(is_tracked) if is_one]
        for number in self._numbers:
            origins.set(carried[number], self._places[number])
            origins.read.discard(memory_of(carried[number]))

    def iterated(self, tags: Sequence[Tag]) -> None:
        """Record what an iteration does to the tags."""
        new: dict[int, Tag] = {}
        for number in self._numbers:
            tag, place = tags[number], self._places[number]
            if tag is place:
                continue
            if is_always_new(tag) and not self._is_read(number):
                self._simple.add(number)
            else:
                new[number] = tag.clone() if isinstance(tag, torch.Tensor) else tag
        for number, tag in new.items():
            place = self._places[number]
            place.copy_(tag) if isinstance(tag, torch.Tensor) else place.fill_(tag)

    def ended(self) -> None:
        """The tags of the results."""
        for number in self._numbers:
            tag: Tag = self._places[number]
            if number in self._simple:
                tag = chosen_tag(self._runs, NEW, self._first[number])
            self._origins.set(self._carried[number], tag)

    def _is_read(self, number: int) -> bool:
        return memory_of(self._carried[number]) in self._origins.read


def is_always_new(tag: Tag) -> bool:
    """Whether a tag says, in every run, that a tensor is new."""
    return isinstance(tag, int) and tag == NEW


def chosen_tag(condition: torch.Tensor, first: Tag, second: Tag) -> Tag:
    """One of two tags, by a condition on the device."""
    if isinstance(first, int) and isinstance(second, int) and first == second:
        return first
    return torch.where(
        condition, tag_tensor(first, condition.device), tag_tensor(second, condition.device)
    )


def tag_tensor(tag: Tag, device: torch.device) -> torch.Tensor:
    """A tag in a tensor; torch would copy a number from the host, which cannot be recorded."""
    return tag if isinstance(tag, torch.Tensor) else torch.full((), tag, device=device)


def _layout(tensor: torch.Tensor) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    return tuple(tensor.shape), tensor.stride(), int(tensor.storage_offset())
