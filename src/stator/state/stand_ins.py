"""Stand-ins: what converted code sees in place of an external list, set, deque or array."""

from __future__ import annotations

import collections
import sys
from typing import Any

import numpy
import torch

from stator.capture.provenance import Provenance
from stator.errors import CaptureError
from stator.values.annotations import Staged
from stator.values.arrays import CapturedArray
from stator.values.staged import (
    StagedContainer,
    StagedCounter,
    StagedDefaultDict,
    StagedDeque,
    StagedDict,
    StagedList,
    StagedOrderedDict,
    StagedSet,
)
from stator.values.symbolic import Undefined
from stator.values.union import Symbolic, Union

PLAIN = (int, float, bool, str, type(None), torch.Tensor)
TABLES = (dict, StagedDict)
EMPTY: dict[object, object] = {}
SEQUENCES = (list, tuple, StagedList, type(EMPTY.values()), type(EMPTY.items()))
MOST_NESTED = 50
STOOD_FOR = (list, set, collections.deque)  # these very classes
DICTS: dict[type, type[StagedDict]] = {  # these have one where the program sets keys that are data
    dict: StagedDict, collections.Counter: StagedCounter,
    collections.OrderedDict: StagedOrderedDict,
}  # fmt: skip


def has_stand_in(value: object) -> bool:
    """Is `value` a container of the caller that converted code uses through a stand-in?"""
    return type(value) in STOOD_FOR


def can_have_stand_in(table: object, before: dict[object, object] | None = None) -> bool:
    """Is it a dict of Python's own, whose values a list of the program can hold?

    `before` is what was in it when the capture began, if that has been changed.
    """
    if type(table) not in DICTS and type(table) is not collections.defaultdict:
        return False
    held = (*dict.values(table), *(before or {}).values())  # type: ignore[arg-type]
    return all(map(_is_plain, held))


def _is_plain(value: object) -> bool:
    if isinstance(value, Union):
        return all(map(_is_plain, value.alternatives))
    if type(value) is tuple:
        return all(map(_is_plain, value))
    return type(value) in PLAIN or isinstance(value, Symbolic | Undefined)


def staged_copy(external: object) -> StagedContainer:
    """A staged container with what `external` holds."""
    if isinstance(external, collections.defaultdict):
        return StagedDefaultDict(external.default_factory, external)
    if isinstance(external, dict):
        return DICTS[type(external)](external)
    if isinstance(external, collections.deque):
        return StagedDeque(external, external.maxlen)
    return _staged_set(external) if isinstance(external, set) else StagedList(external)


def _staged_set(external: set[Any]) -> StagedSet:
    """A copy of a set; if its table is another one, so is its order once it has changed."""
    copy = StagedSet(external)
    copy.order = tuple(external)
    same_table = sys.getsizeof(set(external)) == sys.getsizeof(external)
    copy.is_in_order = same_table and list(set(external)) == list(external)
    return copy


def _holds_the_same(external: Any, stand_in: Any) -> bool:
    """Does a stand-in still hold what its external container holds?"""
    if getattr(stand_in, "columns", None) is not None or len(external) != len(stand_in):
        return False
    if isinstance(external, set):
        return external == set(stand_in)
    if isinstance(external, dict):
        return all(key in stand_in and stand_in[key] is external[key] for key in external)
    return all(one is other for one, other in zip(external, stand_in, strict=True))


def _copied(value: object) -> Staged:
    """`value`, with copies of its stand-ins, also inside lists, tuples and dicts."""
    if isinstance(value, StagedDict) and not value.is_open:
        return StagedDict({key: _copied(item) for key, item in value.items()})
    if type(value) is tuple:
        return tuple(map(_copied, value))
    if type(value) is not StagedList:
        return value
    copy = StagedList() if value.is_open else StagedList(map(_copied, value))
    copy.columns = value.columns
    return copy


class StandIns:
    """The stand-ins of one capture, and the objects that they represent."""

    def __init__(self, provenance: Provenance) -> None:
        self._provenance = provenance
        # by the id of the external object, which is kept so that its id is not used again
        self._containers: dict[int, tuple[Any, StagedContainer]] = {}
        self.arrays: dict[int, tuple[numpy.ndarray[Any, Any], CapturedArray]] = {}
        self.read_arrays: dict[int, numpy.ndarray[Any, Any]] = {}  # those that Python has read
        self.are_certain = True  # no array may be a tensor, as `numpy.clip(tensor, 0, 1)` is

    def add(self, external: object, stand_in: StagedContainer) -> None:
        """`stand_in` is used in place of `external`; its changes are written back."""
        self._containers[id(external)] = (external, stand_in)
        self._provenance.add_stand_in(stand_in)
        stand_in.is_stand_in = True
        if self._provenance.is_external(external):
            self._provenance.add_external(stand_in)

    def find(self, external: object) -> StagedContainer | None:
        """The stand-in of `external`, if it has one yet."""
        _, found = self._containers.get(id(external), (None, None))
        return found

    def changed(self) -> list[tuple[Any, StagedContainer]]:
        """The external containers whose contents the call changes, and their stand-ins.

        A log of the uses of a cache (`library.cache_uses`) is none that other code sees.
        """
        pairs = self._containers.values()
        return [
            (one, other) for one, other in pairs
            if (has_stand_in(one) or isinstance(one, dict)) and not _holds_the_same(one, other)
        ]  # fmt: skip

    def seen(self, value: object) -> Staged:
        """`value`, in which changed external containers are their stand-ins.

        It is a copy where that makes a difference. What else it holds is the same.
        """
        return self._seen(value, frozenset()) if self._containers else value

    def copied(self, value: object) -> Staged:
        """`value`, with copies of the external containers that are in it, as they are now."""
        return _copied(self.seen(value))

    def _seen(self, value: object, around: frozenset[int]) -> Staged:
        external, stand_in = self._containers.get(id(value), (None, None))
        if stand_in is not None and not _holds_the_same(external, stand_in):
            return stand_in
        if id(value) in around or len(around) > MOST_NESTED:
            return value
        around |= {id(value)}
        if isinstance(value, dict) and type(value) in TABLES:
            table = {key: self._seen(item, around) for key, item in value.items()}
            is_same = all(table[key] is item for key, item in value.items())
            return value if is_same else StagedDict(table)
        if not isinstance(value, SEQUENCES) or type(value) not in SEQUENCES:
            return value
        if getattr(value, "columns", None) is not None:
            return value
        items = list(value)
        found = [self._seen(item, around) for item in items]
        if all(one is item for one, item in zip(found, items, strict=True)):
            return value
        return tuple(found) if isinstance(value, tuple) else StagedList(found)

    def original(self, value: object) -> Staged:
        """The external container that `value` represents; any other value unchanged."""
        if isinstance(value, CapturedArray):
            if not self.are_certain:
                raise CaptureError(
                    "the result of a numpy function on a tensor is returned or kept outside",
                    fix="return a tensor: `torch.as_tensor(...)`",
                )
            arrays = self.arrays.values()
            return next((external for external, one in arrays if one is value), value)
        if not isinstance(value, StagedContainer):
            return value
        pairs = self._containers.values()
        return next((external for external, one in pairs if one is value), value)
