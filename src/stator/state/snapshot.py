"""Snapshot: cheap proof that nothing a guard depends on has changed.

    dicts        the versions that Python keeps of them
    objects      are of the class they were of
    functions    have the code and the defaults they had
    tensors      that are stored beside the program: dtype, sizes and the like
    the rest     cells, lists, and dicts that are written all the time: read again

All but the rest is seen in a few words of memory for each (`state.memory`), which takes some
three microseconds for a model of a hundred modules. Where memory may not be laid out as it is known
there, torch's own checks in C++ do the same in some thirteen. To read everything again would take a
millisecond. `make bench` measures it.
"""

from __future__ import annotations

import gc
import itertools
import operator
import time
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from stator.state.memory import Watched, is_plain, memory_check
from stator.state.memory_trial import can_check_by_memory
from stator.state.native_checks import DictVersions, tensors_check, versions_check

Check = Callable[[], bool]
FUNCTION_PARTS = operator.attrgetter("__code__", "__defaults__", "__kwdefaults__")


class WatchedRead(Protocol):
    """What a snapshot needs to know of a read."""

    @property
    def dicts(self) -> tuple[dict[object, object], ...] | None:
        """The dicts that decide it."""

    @property
    def owner(self) -> Any:
        """The object whose class decides it as well."""

    @property
    def tensor(self) -> torch.Tensor | None:
        """The stored tensor whose dtype, sizes and the like were read."""

    @property
    def function(self) -> Any:
        """The function whose code and defaults were used."""

    def is_unchanged(self) -> bool:
        """Does it give what it gave?"""


@dataclass(frozen=True, slots=True)
class Parts:
    """What reads go through, sorted by how a change is seen."""

    dicts: dict[int, dict[Any, Any]] = field(default_factory=dict)
    owners: dict[int, Any] = field(default_factory=dict)
    functions: list[types.FunctionType] = field(default_factory=list)
    tensors: list[torch.Tensor] = field(default_factory=list)
    again: list[Check] = field(default_factory=list)

    def add(self, read: WatchedRead, often_written: Mapping[int, object]) -> None:
        """Sort `read` in; one that goes through a dict often written is read each time."""
        if read.tensor is not None:
            self.tensors.append(read.tensor)
        elif read.function is not None:
            self.functions.append(read.function)
        elif read.dicts is None or any(id(one) in often_written for one in read.dicts):
            self.again.append(read.is_unchanged)
        else:
            self.dicts.update((id(one), one) for one in read.dicts)
            self.owners.update({} if read.owner is None else {id(read.owner): read.owner})


class Snapshot:
    """A moment at which all reads gave what they gave in the capture.

    `is_valid()` says whether nothing has changed since, for certain; it is put together from only
    those checks that these reads need, as it comes before every call. Without `by_memory`, it is
    torch that checks.
    """

    def __init__(
        self,
        reads: Sequence[WatchedRead],
        often_written: Mapping[int, Any],
        *,
        by_memory: bool = True,
    ) -> None:
        parts = Parts()
        for read in reads:
            parts.add(read, often_written)
        self.made = time.monotonic()
        self._versions = DictVersions(list(parts.dicts.values()))
        checks = _memory_checks(parts) if by_memory and can_check_by_memory() else None
        if checks is None:
            checks = _torch_checks(parts)
        self.is_valid = _all_of([*checks, *([_reads_check(parts.again)] if parts.again else [])])

    def written(self) -> list[dict[Any, Any]]:
        """The dicts that have been written since."""
        return self._versions.written()


def _memory_checks(parts: Parts) -> list[Check] | None:
    """Checks that read memory; None where that does not look as it should, or is not worth it."""
    if not (parts.dicts or parts.owners or parts.tensors):
        return None  # a function or two are asked faster
    plain = [tensor for tensor in parts.tensors if is_plain(tensor)]
    others = [tensor for tensor in parts.tensors if not is_plain(tensor)]
    dicts, owners = list(parts.dicts.values()), list(parts.owners.values())
    check = memory_check(Watched(dicts, owners, parts.functions, plain))
    if check is None:
        return None
    return [check, *([_tensors_check(others)] if others else [])]


def _torch_checks(parts: Parts) -> list[Check]:
    filled = [one for one in parts.dicts.values() if one]
    empty = [one for one in parts.dicts.values() if not one]
    checks = [
        (filled, versions_check(filled)),
        (empty, lambda: not any(empty)),
        (parts.owners, _classes_check(list(parts.owners.values()))),
        (parts.functions, _functions_check(parts.functions)),
        (parts.tensors, _tensors_check(parts.tensors)),
    ]
    return [check for what, check in checks if what]


def _all_of(checks: Sequence[Check]) -> Check:
    if len(checks) == 1:
        return checks[0]

    def all_hold() -> bool:
        for check in checks:  # noqa: SIM110  # twice as fast as a generator
            if not check():
                return False
        return True

    return all_hold


def _classes_check(owners: list[object]) -> Check:
    classes = list(map(type, owners))
    return lambda: list(map(type, owners)) == classes


def _functions_check(functions: Sequence[types.FunctionType]) -> Check:
    if len(functions) == 1:
        function = functions[0]
        code, defaults, keywords = FUNCTION_PARTS(function)
        return lambda: (
            function.__code__ is code
            and function.__defaults__ is defaults
            and function.__kwdefaults__ is keywords
        )

    def all_parts() -> Iterator[object]:
        return itertools.chain.from_iterable(map(FUNCTION_PARTS, functions))

    parts = list(all_parts())
    return lambda: all(map(operator.is_, all_parts(), parts))


def _tensors_check(tensors: Sequence[torch.Tensor]) -> Check:
    fit = tensors_check(tensors, [tensor.shape for tensor in tensors])
    return lambda: fit(*tensors)


def _reads_check(again: Sequence[Check]) -> Check:
    return lambda: all(unchanged() for unchanged in again)


def class_dicts(cls: type) -> tuple[dict[object, object], ...]:
    """The dicts of `cls` and its bases, `object` left out.

    `__dict__` of a class is a proxy, and only the dict behind it has a version.
    """
    return tuple(gc.get_referents(vars(base))[0] for base in cls.__mro__[:-1])
