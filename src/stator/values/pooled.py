"""Pooled containers: lists, dicts and sets that are known by reference, as Python knows its own.

A *pool* is a runtime list of contents, one entry for each container in it. What user code has is a
handle, which knows the number of its entry; what a runtime list holds is that number. So a change
is seen by every name that the container has. `values/sites.py` tells which containers are pooled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from stator.values.kinds import AnyPool
from stator.values.staged import (
    Columns,
    Staged,
    StagedDefaultDict,
    StagedDeque,
    StagedDict,
    StagedList,
    StagedSet,
)


class Cells(AnyPool, Protocol):
    """A pool, as its handles know it (`containers.pools.Pool`)."""

    cells: StagedList  # the contents of every container in the pool

    def load(self, at: Any) -> Columns:
        """The contents of entry `at`."""

    def store(self, at: Any, contents: Columns | None) -> None:
        """Make `contents` those of entry `at`; None empties it."""


class Pooled(Staged):
    """A handle: a container whose contents are entry `at` of `pool`."""

    pool: Cells
    at: Any
    is_open = True

    @property
    def key(self) -> object:
        """The same for handles that are known to be one container."""
        return self.at if isinstance(self.at, int) else self.at.node.expr

    @property
    def columns(self) -> Columns | None:
        """The contents, as the pool has them now."""
        return self.pool.load(self.at)

    @columns.setter
    def columns(self, contents: Columns | None) -> None:
        self.pool.store(self.at, contents)


class PooledList(Pooled, StagedList):
    """A list in a pool."""

    is_tuple = False


class PooledDeque(Pooled, StagedDeque):
    """A deque in a pool."""

    is_tuple = False


class PooledDict(Pooled, StagedDict):
    """A dict in a pool."""


class PooledDefaultDict(Pooled, StagedDefaultDict):
    """A defaultdict in a pool."""


class PooledSet(Pooled, StagedSet):
    """A set in a pool."""


@dataclass(frozen=True)
class HandleMaker:
    """Makes the handles of one pool: for containers of one class, with the same options."""

    cls: Callable[..., Any]
    options: tuple[tuple[str, Any], ...] = ()

    def make(self, pool: Cells, at: object) -> Any:
        """The container that is entry `at` of `pool`."""
        handle = self.cls(**dict(self.options))
        handle.pool, handle.at = pool, at
        return handle


def handle_maker(container: Staged) -> HandleMaker:
    """How handles for containers such as `container` are made."""
    if isinstance(container, StagedDeque):
        return HandleMaker(PooledDeque, (("maxlen", container.maxlen),))
    if isinstance(container, StagedDefaultDict):
        return HandleMaker(PooledDefaultDict, (("default_factory", container.default_factory),))
    if isinstance(container, StagedDict):
        return HandleMaker(PooledDict)
    return HandleMaker(PooledSet if isinstance(container, StagedSet) else PooledList)
