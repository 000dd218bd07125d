"""OpenLists: programs for lists of any length among the arguments of a call.

A list of the caller's has as many leaves as items, so there is a program for each length. Where
calls that are otherwise alike give lists of a third length, the list becomes one input: a list of
the program, whose items are tensors of one kind, or numbers. Where Python needs the length or the
very items, or the program would refuse some sizes, there is a program for each length, as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from stator.api.concrete import ConcreteProgram
from stator.api.program_cache import ProgramCache
from stator.api.signature import ARGUMENTS, GivenList, Signature, signature_of
from stator.api.specializer import Call
from stator.state.live_lists import ItemKind, item_kind, joined_items

LENGTHS_KEPT = 2  # there are programs for so many lengths before one for all
FAMILIES_KEPT = 64  # kinds of calls whose lengths are known
Make = Callable[[tuple[Any, ...], dict[str, Any], Signature], ConcreteProgram | None]
Match = tuple[ConcreteProgram, tuple[Any, ...]]  # a program, and the leaves of the call for it


@dataclass
class Family:
    """Calls that differ in the lengths of lists, at most."""

    lengths: dict[int, set[int]] = field(default_factory=dict)  # by the number of the list
    is_closed: bool = False  # no program for any length could be captured

    def add(self, lists: Iterable[GivenList]) -> None:
        """Another call, whose lists have these lengths."""
        for number, given in enumerate(lists):
            seen = self.lengths.setdefault(number, set())
            if len(seen) <= LENGTHS_KEPT:
                seen.add(len(given.items))

    @property
    def varying(self) -> frozenset[int]:
        """The numbers of the lists whose length is open."""
        return frozenset(k for k, seen in self.lengths.items() if len(seen) > LENGTHS_KEPT)


class OpenLists:
    """Finds the programs of one function that hold for lists of any length."""

    def __init__(self, cache: ProgramCache) -> None:
        self._cache = cache
        self._families: dict[Any, Family] = {}

    def match(self, args: tuple[Any, ...], kwargs: dict[str, Any], make: Make) -> Match | None:
        """A program for this call, for which there is none of its own; None if it needs one.

        `make` captures one for the call with lists as leaves, if it can.
        """
        lists = _Lists((args, kwargs))
        if not lists.found or lists.shares_parts:
            return None
        family = self._family(signature_of(*lists.opened(range(len(lists.found)))))
        family.add(lists.found)
        if not family.varying:
            return None
        opened = lists.opened(family.varying)
        signature = signature_of(*opened)
        found = self._cache.find(signature)
        if found is None and not family.is_closed:
            found = make(*opened, signature)
            family.is_closed = found is None
        return None if found is None else (found, signature.leaves)

    def _family(self, signature: Signature) -> Family:
        family = self._families.setdefault(signature.key, Family())
        if len(self._families) > FAMILIES_KEPT:
            self._families.pop(next(iter([*self._families])), None)  # the oldest
        return family


class _Lists:
    """The lists of one call that a list of the program can stand for, in order."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self.found: list[GivenList] = []
        self.shares_parts = False  # is such a list, or a tensor in one, given in two places?
        self._numbers: dict[int, int] = {}  # by the id of the list
        self._holders: dict[int, int | None] = {}  # by the id of a tensor: the list that holds it
        self._find(call)

    def _find(self, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            self._note(value, None)
            return
        kind = _kind_of(value) if type(value) is list else None
        if kind is not None:
            self.shares_parts |= id(value) in self._numbers
            number = self._numbers.setdefault(id(value), len(self.found))
            self.found.append(GivenList(tuple(value), kind))
            for item in value:
                if isinstance(item, torch.Tensor):
                    self._note(item, number)
            return
        entry = ARGUMENTS.of(value)
        for item in () if entry is None else entry.parts(value).items:
            self._find(item)

    def _note(self, tensor: torch.Tensor, holder: int | None) -> None:
        """A tensor is in this list, or in none."""
        self.shares_parts |= self._holders.setdefault(id(tensor), holder) != holder

    def opened(self, numbers: Iterable[int]) -> Call:
        """The call with these lists as one leaf each; everything else is given as it is."""
        wanted = frozenset(numbers)
        new = {ident: self.found[k] for ident, k in self._numbers.items() if k in wanted}
        args, kwargs = self._call
        named = {name: _replaced(value, new) for name, value in kwargs.items()}
        return tuple(_replaced(value, new) for value in args), named


def _kind_of(items: list[Any]) -> ItemKind | None:
    """The kind of all items; None if there is none, or a tensor has attributes of the caller's."""
    if any(isinstance(item, torch.Tensor) and vars(item) for item in items):
        return None
    kinds = [item_kind(item) for item in items[:1]]
    for item in items[1:]:
        kinds.append(joined_items(kinds[-1], item_kind(item)))
    return kinds[-1] if kinds else None


def _replaced(value: Any, new: dict[int, Any]) -> Any:
    """`value` with other objects for those in `new`, by their ids; a container stays one object."""
    if id(value) in new:
        return new[id(value)]
    entry = ARGUMENTS.of(value)
    if entry is None:
        return value
    items = entry.parts(value).items
    replaced = [_replaced(item, new) for item in items]
    if all(one is other for one, other in zip(items, replaced, strict=True)):
        return value
    return new.setdefault(id(value), entry.like(value, replaced))
