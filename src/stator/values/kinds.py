"""Kinds: what a captured variable can be. A kind is a layout with abstract leaves.

    Exact(value)     this very value: nothing flows through the block
    TensorKind       a tensor; a size that varies is None
    NumberKind       a Python number
    TextKind         a string
    ContainerKind    a container of known length: list, tuple, set, dict, attributes of an object
    ListKind         a runtime list: only a run knows its length
    PooledKind       a container that is known by reference: an entry of a pool
    UnionKind        one of several of these; a run decides which
    BOTTOM           no value at all: the block raised

`values/describe.py` gives the kind of a value, `values/merge.py` the kind that covers two others.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeGuard

import sympy
import torch

from stator.program.layout import Alternatives, Node, Repetition
from stator.program.sizes import AnySize, Dim
from stator.program.types import (
    ListType,
    NumberType,
    OptionalType,
    Presence,
    Tag,
    TensorType,
    TextType,
    Type,
)
from stator.program.types import NumberKind as NumberName
from stator.values.containers import DATACLASS, DICT
from stator.values.dims import dim_of
from stator.values.sites import Sites
from stator.values.symbolic import Number, Undefined

Size: TypeAlias = int | sympy.Basic | None
Fresh = Callable[[Any], bool]
SCALARS = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device)


def never(_: object) -> bool:
    """No container is fresh: each may have another name, and is kept as the object it is."""
    return False


def always(_: object) -> bool:
    """Every container may be taken apart."""
    return True


@dataclass(frozen=True, eq=False)
class Exact:
    """One particular value, the same on every path.

    `fresh` tells containers that the block itself made, which can be taken apart and built again,
    from those that others know.
    """

    value: Any
    fresh: Fresh = never

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Exact) and same_value(self.value, other.value)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class TensorKind:
    """Any tensor of this dtype, device and rank."""

    dtype: torch.dtype
    device: torch.device
    sizes: tuple[Size, ...]
    requires_grad: bool
    grad_varies: bool = False  # only a run knows whether it requires grad


@dataclass(frozen=True)
class NumberKind:
    """Any Python number of this kind."""

    name: NumberName


@dataclass(frozen=True)
class TextKind:
    """A string made when the program runs."""


@dataclass(frozen=True)
class ContainerKind(Node):
    """A container with known parts: `keys` has keys or attribute names, None for positions."""

    type: type
    items: tuple[Kind, ...]
    keys: tuple[Any, ...] | None = None
    frozen: str | None = None  # why it must not be changed any more
    sites: Sites = frozenset()  # where such a container was created

    @property
    def named(self) -> dict[object, Kind]:
        """The kinds of its parts by key, in order."""
        keys = range(len(self.items)) if self.keys is None else self.keys
        return dict(zip(keys, self.items, strict=True))


@dataclass(frozen=True)
class ListKind(Repetition):
    """A list of unknown length; or a tuple, a set (its items), a dict (its pairs)."""

    item: Kind
    form: type = list
    frozen: str | None = None
    sites: Sites = frozenset()


class AnyPool(Protocol):
    """A pool, as kinds know it (`containers.pools.Pool`)."""

    sites: Sites

    @property
    def form(self) -> type:
        """What its containers are to Python: list, dict or set."""

    @property
    def item(self) -> Kind:
        """The kind of what its containers hold."""

    def kind_of_copies(self, item: Kind) -> Kind:
        """The kind of a copy of an entry, whose contents are of the kind `item`."""

    def handle(self, at: object) -> Any:
        """The container that is entry `at`."""


@dataclass(frozen=True)
class PooledKind:
    """Any container of this pool."""

    pool: AnyPool


@dataclass(frozen=True)
class UnionKind(Alternatives):
    """One of `alternatives`, whose signatures differ."""

    alternatives: tuple[Kind, ...]


@dataclass(frozen=True)
class Bottom:
    """No value: the path never gets here; or an item of a list that is still empty."""


BOTTOM = Bottom()
Kind = (
    Exact | TensorKind | NumberKind | TextKind | ContainerKind | ListKind | PooledKind | UnionKind
    | Bottom
)  # fmt: skip


def is_map(kind: Kind) -> TypeGuard[ContainerKind]:
    """Is it a dict with known keys, or the attributes of an object as a dict?"""
    return (
        isinstance(kind, ContainerKind)
        and kind.keys is not None
        and DICT.covers(kind.type)
        and not DATACLASS.covers(kind.type)
    )


def same_value(a: object, b: object) -> bool:
    """Are `a` and `b` interchangeable: one object, equal constants, or equal symbolic numbers?"""
    if a is b:
        return True
    if isinstance(a, Number) and isinstance(b, Number):
        return type(a) is type(b) and bool(a.node.expr == b.node.expr)
    if type(a) is type(b) and isinstance(a, Undefined):
        return True
    if type(a) is type(b) and isinstance(a, float):
        return repr(a) == repr(b)  # 0.0 and -0.0 differ, nan and nan do not
    return type(a) is type(b) and isinstance(a, SCALARS) and bool(a == b)


def leaf_types(kind: Kind) -> Iterator[Type]:
    """The types of the program values that a value of `kind` consists of, in order.

    Unions are named `0`, `1` and so on: `new_leaves` gives them names of their own.
    """
    return _leaf_types(kind, map(str, itertools.count()))


def _leaf_types(kind: Kind, names: Iterator[str]) -> Iterator[Type]:
    match kind:
        case TensorKind():
            shape = tuple(AnySize() if size is None else _dim(size) for size in kind.sizes)
            yield TensorType(str(kind.dtype).removeprefix("torch."), shape, str(kind.device))
        case NumberKind():
            yield NumberType(kind.name)
        case PooledKind():
            yield NumberType("int")
        case TextKind():
            yield TextType()
        case ContainerKind():
            for item in kind.items:
                yield from _leaf_types(item, names)
        case ListKind():
            yield from (ListType(column) for column in _column_types(kind.item, names))
        case UnionKind():
            union = next(names)
            yield NumberType("int", Tag(union, len(kind.alternatives)))
            for index, alternative in enumerate(kind.alternatives):
                for leaf in _leaf_types(alternative, names):
                    yield optional(leaf, Presence(union, (index,)))


def column_types(item: Kind) -> tuple[Type, ...]:
    """One column for each leaf of an item; an item without leaves has one too, to be counted."""
    return _column_types(item, map(str, itertools.count()))


def _column_types(item: Kind, names: Iterator[str]) -> tuple[Type, ...]:
    return tuple(_leaf_types(item, names)) or (NumberType("int"),)


def optional(leaf_type: Type, present: Presence | None = None) -> Type:
    """`leaf_type`, or absent; a leaf of an inner union is there as the inner tag says."""
    return leaf_type if isinstance(leaf_type, OptionalType) else OptionalType(leaf_type, present)


def _dim(size: int | sympy.Basic) -> Dim:
    return size if isinstance(size, int) else dim_of(size)
