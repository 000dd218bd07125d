"""Pools: the contents of containers that are known by reference (`values/pooled.py`).

rows = []                       rows: list of numbers of entries
rows.append([])                 the pool gets an entry, rows its number
rows[-1].append(1)              entry rows[-1] of the pool is replaced
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import types
from collections.abc import Callable
from typing import Any

import torch

from stator.capture.flatten import list_of, make_columns
from stator.capture.recorder import Recorder
from stator.capture.scope import Scope
from stator.containers import definitions, lists
from stator.english import with_article
from stator.errors import UnsupportedCall
from stator.frames import current_place
from stator.program.ir import Op
from stator.state.session import Session
from stator.values.annotations import Staged
from stator.values.arrays import CapturedArray
from stator.values.attributes import attributes_of
from stator.values.kinds import BOTTOM, ContainerKind, Kind, ListKind
from stator.values.pooled import (
    HandleMaker,
    Pooled,
    Reference,
    can_be_pooled,
    handle_maker,
    object_handle,
)
from stator.values.sites import Site, Sites, class_site
from stator.values.staged import Columns, StagedContainer, StagedDict, StagedList, StagedSet, tick

MAKERS = frozenset(
    {list, dict, set, sorted, collections.deque, collections.defaultdict, collections.Counter}
)
MAKES_OBJECTS = (dataclasses.replace, copy.copy)
METHODS = (types.BuiltinMethodType, types.MethodWrapperType)


def makes_containers(function: Staged) -> bool:
    """May its result be a new list, dict or set that no user code has seen before?"""
    if isinstance(function, types.MethodType):  # of what represents an object with methods in C
        return isinstance(function.__self__, StagedContainer | torch.Tensor | CapturedArray)
    if isinstance(function, type | type(len)) and function in MAKERS:
        return True
    is_method = isinstance(function, METHODS)
    return is_method and not isinstance(function.__self__, types.ModuleType)


def makes_objects(function: object) -> bool:
    """May its result be a new object of a user's class?"""
    return isinstance(function, type) or any(function is one for one in MAKES_OBJECTS)


class Pool:
    """The contents of the containers of one class that are created at `sites`."""

    def __init__(self, recorder: Recorder, sites: Sites, maker: HandleMaker) -> None:
        self.recorder, self.sites, self.maker = recorder, sites, maker
        self.cells = StagedList()
        self.cells.created_at = (
            recorder.program_start
        )  # every block sees it, whichever is the first
        self._loaded: dict[object, Loaded] = {}

    @property
    def form(self) -> type:
        """What a handle is to Python: a list, a dict or a set."""
        sample = self.maker.cls
        return dict if issubclass(sample, dict) else set if issubclass(sample, set) else list  # type: ignore[arg-type]

    @property
    def item(self) -> Kind:
        """The kind of what its containers hold."""
        held = self.cells.columns
        return held.item.item if held is not None and isinstance(held.item, ListKind) else BOTTOM

    def kind_of_copies(self, item: Kind) -> Kind:
        """The kind of a copy of an entry, whose contents are of the kind `item`."""
        return ListKind(item, self.form)

    def new(self, container: StagedContainer) -> Staged:
        """`container`, which has no other name yet, as an entry of the pool."""
        return self.add(self._cell(_contents(self.recorder, container)))

    def add(self, cell: object) -> Staged:
        """The container whose contents are `cell`, a new entry."""
        recorder = self.recorder
        recorder.journal.note(self.cells)
        at = lists.list_length(recorder, self.cells) if self.cells.is_open else 0
        lists.append(recorder, self.cells, cell)
        return self.handle(at)

    def handle(self, at: object) -> Staged:
        """The container that is entry `at`."""
        return self.maker.make(self, at)

    def load(self, at: Any) -> Columns:
        """The contents of entry `at`."""
        contents: Columns = self.read(at).columns
        return contents

    def read(self, at: Any) -> Any:
        """What the pool holds as entry `at`; read once as long as the pool stays as it is."""
        key = at if isinstance(at, int) else at.node.expr
        seen = self._loaded.get(key)
        if seen is None or not seen.holds(self.recorder, self.cells.columns):
            held = self.cells.columns
            value = lists.list_get(self.recorder, self.cells, at)
            scope = self.recorder.scope
            seen = Loaded(held, value, scope, len(scope.block.ops) - 1)
            self._loaded[key] = seen
        return seen.contents

    def store(self, at: Any, contents: Columns | None) -> None:
        """Make `contents` those of entry `at`."""
        self.recorder.journal.note(self.cells)
        if contents is None:
            contents = make_columns(self.recorder, (), BOTTOM)
        lists.set_item(self.recorder, self.cells, at, self._cell(contents))

    def _cell(self, contents: Columns) -> StagedList:
        return list_of(Columns(contents.item, contents.values, self.form))


class Loaded:
    """What was read of an entry: it holds where the op that read it is seen."""

    def __init__(self, held: Columns | None, contents: Any, scope: Scope, at: int) -> None:
        self.held, self.contents, self.scope, self.at = held, contents, scope, at
        self.op: Op = scope.block.ops[at]

    def holds(self, recorder: Recorder, held: Columns | None) -> bool:
        """Is the pool as it was, and is the block that read it the current one or around it?"""
        ops = self.scope.block.ops
        return (
            held is self.held
            and any(scope is self.scope for scope in recorder.scope.chain())
            and self.at < len(ops)
            and ops[self.at] is self.op
        )


class ObjectPool(Pool):
    """The attributes of the objects of one class that are created at `sites`: a row for each."""

    def __init__(self, recorder: Recorder, sites: Sites, cls: type) -> None:
        super().__init__(recorder, sites, HandleMaker(object_handle(cls)))
        self.cls, self.names = cls, tuple[str, ...]()

    @property
    def form(self) -> type:
        """What a handle is to Python: an object of this class."""
        return self.cls

    @property
    def item(self) -> Kind:
        """The kind of the attributes of an object."""
        return BOTTOM if self.cells.columns is None else self.cells.columns.item

    def kind_of_copies(self, item: Kind) -> Kind:
        """The kind of an object with attributes of the kind `item`."""
        if not isinstance(item, ContainerKind):
            return item
        return ContainerKind(self.cls, item.items, item.keys)

    def new_object(self, obj: object) -> Staged:
        """`obj`, which has no other name yet, as an entry of the pool."""
        attributes = attributes_of(obj)
        if self.names and set(attributes) != set(self.names):
            raise self._other_attributes()
        self.names = self.names or tuple(attributes)
        return self.add(StagedDict({name: attributes[name] for name in self.names}))

    def row(self, at: Any) -> dict[str, Any]:
        """The attributes of the object that is entry `at`."""
        return dict(self.read(at).items())

    def set_attribute(self, at: Any, name: str, value: object) -> None:
        """`entry.name = value`."""
        if name not in self.names:
            raise self._other_attributes()
        row = StagedDict({**self.row(at), name: value})
        self.recorder.journal.note(self.cells)
        lists.set_item(self.recorder, self.cells, at, row)

    def _other_attributes(self) -> UnsupportedCall:
        return UnsupportedCall(
            f"{with_article(self.cls.__name__)} that is in a list of data-dependent length "
            "has attributes "
            "that others do not have",
            fix="set every attribute in `__init__`",
        )  # fmt: skip


def _contents(recorder: Recorder, container: Any) -> Columns:
    """What `container` holds, as a list of the program."""
    if container.is_open:
        return container.columns
    known = container.items() if isinstance(container, StagedDict) else container
    return lists.columns_of(recorder, StagedList(known))


class Pools:
    """The pools of one capture."""

    def __init__(self, session: Session) -> None:
        self.session, self.recorder, self.groups = session, session.recorder, session.pooled
        self._pools: dict[tuple[Sites, HandleMaker], Pool] = {}
        self._object_pools: dict[tuple[Sites, type], ObjectPool] = {}
        self._row_site: Site | None = None  # of the lists that are copied now

    def placed(self, what: str, make: Callable[[], Staged]) -> Staged:
        """The value of `make()`; a container that it creates is known by this place."""
        start = tick()
        value = make()
        if isinstance(value, StagedContainer) and _is_new(value, start):
            row_site = self._row_site if what == "list()" else None
            return self._of_site(value, row_site or (current_place(), what))
        return value

    def created(self, function: object, start: int, value: Staged) -> Staged:
        """`value`, which a call has given; an object of a class that is pooled is an entry."""
        value, provenance = self._as_seen(value), self.session.provenance
        if not (makes_objects(function) and can_be_pooled(type(value))):
            return value
        if isinstance(value, Reference) or provenance.created_at(value) <= start:
            return value
        group = self.groups.group_of(class_site(type(value)))
        if group is None:
            return value
        pool = self._object_pools.get((group, type(value)))
        if pool is None:
            pool = ObjectPool(self.recorder, group, type(value))
            self._object_pools[group, type(value)] = pool
        return pool.new_object(value)

    def called(self, function: Staged, make: Callable[[], Staged]) -> Staged:
        """The same for a call; of `x.tolist()` the lists inside are new as well."""
        name = getattr(function, "__name__", "")
        if name != "tolist":
            return self._as_seen(self.placed(f"{name}()", make))
        start = tick()
        value = make()
        if not isinstance(value, StagedList) or not _is_new(value, start):
            return value
        place = current_place()
        return self._of_site(self._rows(value, (place, "tolist[]")), (place, "tolist"))

    def _as_seen(self, value: Staged) -> Staged:
        """A list of the caller's that was in another one, as its stand-in."""
        is_outside = self.session.has_stand_in(value) and self.session.provenance.is_external(value)
        return self.session.stand_in(value) if is_outside else value

    def _rows(self, value: StagedList, site: Site) -> StagedList:
        """`value`, in which each list is one of `site`."""
        columns = value.columns
        if columns is None:
            rows = [self._of_site(row, site) if isinstance(row, StagedList) else row
                    for row in value]  # fmt: skip
            list.__setitem__(value, slice(None), rows)
        elif isinstance(columns.item, ListKind | ContainerKind):
            if self.groups.group_of(site) is not None:
                return self._copied_rows(value, site)
            item = dataclasses.replace(columns.item, sites=frozenset({site}))
            value.columns = Columns(item, columns.values, columns.form)
        return value

    def _copied_rows(self, value: StagedList, site: Site) -> StagedList:
        self._row_site = site
        try:
            rows: StagedList = self.session.interpreter.run(definitions.copied_rows, value)
        finally:
            self._row_site = None
        return rows

    def _of_site(self, container: StagedContainer, site: Site) -> Staged:
        group = self.groups.group_of(site)
        if group is None:
            container.sites = frozenset({site})
            return container
        maker = handle_maker(container)
        pool = self._pools.setdefault((group, maker), Pool(self.recorder, group, maker))
        return pool.new(container)


def _is_new(value: StagedContainer, start: int) -> bool:
    """Was it created since, with no other name and for no other place?"""
    return (
        isinstance(value, StagedList | StagedDict | StagedSet)
        and not isinstance(value, Pooled)
        and value.created_at > start
        and not value.frozen
        and not value.sites
        and not value.is_stand_in
        and not (isinstance(value, StagedList) and value.is_tuple)
    )
