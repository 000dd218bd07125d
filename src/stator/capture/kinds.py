"""Kinds: what a captured variable can be, and how two of them join.

    Exact(value)     this very value: nothing flows through the block
    TensorKind       a tensor; a size that varies is None
    NumberKind       a Python number
    SequenceKind     a tuple, or a list of known length
    MapKind          a dict
    ObjectKind       an object's attributes
    ListKind         a list whose length only a run knows
    UnionKind        one of several of these; a run decides which
    BOTTOM           no value at all: the block raised

`merge` is the least kind that covers two others. Alternatives of a union differ in `signature`, so
a value always finds its one alternative.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import sympy
import torch

from stator.capture.arrays import CapturedArray
from stator.capture.numbers import Number, kind_of_number
from stator.capture.places import current_place
from stator.capture.values import (
    CapturedComplex,
    CapturedText,
    Columns,
    StagedDefaultDict,
    StagedDeque,
    StagedDict,
    StagedList,
    StagedSet,
    Undefined,
    Variant,
    freeze,
    python_name,
    shown,
)
from stator.errors import BranchMismatch, UnsupportedCall
from stator.program.types import (
    ListType,
    NumberType,
    OptionalType,
    TensorType,
    TextType,
    Type,
)
from stator.program.types import NumberKind as NumberName

Size: TypeAlias = int | sympy.Basic | None
Fresh = Callable[[Any], bool]


def never(_: Any) -> bool:
    """No container is fresh: each may be known by another name, and is kept as the object it is."""
    return False


def always(_: Any) -> bool:
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


@dataclass(frozen=True)
class NumberKind:
    """Any Python number of this kind."""

    name: NumberName


@dataclass(frozen=True)
class TextKind:
    """A string made when the program runs."""


@dataclass(frozen=True)
class SequenceKind:
    """A tuple (or named tuple), or a list of known length."""

    type: type
    items: tuple[Kind, ...]
    frozen: str | None = None  # why it must not be changed any more


@dataclass(frozen=True)
class MapKind:
    """A dict with these keys, in this order."""

    type: type
    keys: tuple[Any, ...]
    items: tuple[Kind, ...]
    frozen: str | None = None


@dataclass(frozen=True)
class ObjectKind:
    """An instance of a plain Python class with these attributes."""

    type: type
    keys: tuple[str, ...]
    items: tuple[Kind, ...]


@dataclass(frozen=True)
class ListKind:
    """A list of unknown length; or a tuple, a set (its items), a dict (its pairs)."""

    item: Kind
    form: type = list
    frozen: str | None = None


@dataclass(frozen=True)
class UnionKind:
    """One of `alternatives`, whose signatures differ."""

    alternatives: tuple[Kind, ...]


@dataclass(frozen=True)
class Bottom:
    """No value: the path never gets here; or an item of a list that is still empty."""


BOTTOM = Bottom()
Kind = (
    Exact | TensorKind | NumberKind | TextKind | SequenceKind | MapKind | ObjectKind | ListKind
    | UnionKind | Bottom
)  # fmt: skip
NEVER_PLAIN = (
    torch.nn.Module, type, Undefined, torch.Tensor, Number, CapturedText, CapturedComplex,
)  # fmt: skip
STAGED = (StagedList, StagedDict)
SCALARS = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device)


def same_value(a: Any, b: Any) -> bool:
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


def describe(value: Any, fresh: Fresh = never) -> Kind:
    """The kind of `value` as it stands."""
    if isinstance(value, Variant):
        return UnionKind(tuple(generalise(Exact(item, fresh)) for item in value.alternatives))
    return Exact(value, fresh)


def describe_state(state: Any, fresh: Fresh = never) -> Kind:
    """The kind of a mutable object's contents (see `journal.state_of`)."""
    if isinstance(state, Columns):
        return ListKind(state.item, state.form)
    if isinstance(state, frozenset) and not any(isinstance(i, torch.Tensor) for i in state):
        return SequenceKind(set, tuple(Exact(item) for item in in_order(state)))
    if isinstance(state, dict):
        items = tuple(describe(item, fresh) for item in state.values())
        return MapKind(dict, tuple(state), items)
    if isinstance(state, tuple):
        return SequenceKind(list, tuple(describe(item, fresh) for item in state))
    return Exact(state)


def in_order(items: Any) -> list[Any]:
    """The items of a set in an order that does not depend on their hashes."""
    return sorted(items, key=lambda item: (type(item).__name__, repr(item)))


def widen(kind: Kind) -> Kind:
    """`kind` with an exact value opened one level: the form in which it can join another."""
    if not isinstance(kind, Exact):
        return kind
    value, fresh = kind.value, kind.fresh
    if isinstance(value, Variant):
        return describe(value, fresh)
    if isinstance(value, torch.Tensor):
        return _tensor_kind(value)
    if isinstance(value, Number | CapturedComplex | bool | int | float | complex):
        return NumberKind(kind_of_number(value))
    if isinstance(value, CapturedText):
        return TextKind()
    if isinstance(value, tuple):
        return SequenceKind(type(value), tuple(describe(item, fresh) for item in value))
    if isinstance(value, CapturedArray):  # a wrapper without a life of its own
        return ObjectKind(CapturedArray, ("tensor",), (Exact(value.tensor, fresh),))
    return _widen_container(kind) if fresh(value) else kind


def _widen_container(kind: Exact) -> Kind:
    """A list, dict or object that nobody else knows, opened one level."""
    value, fresh = kind.value, kind.fresh
    if isinstance(value, StagedDeque | StagedDefaultDict):
        return kind
    if isinstance(value, (*STAGED, StagedSet)) and value.columns is not None:
        return ListKind(value.columns.item, value.columns.form, value.frozen)
    if isinstance(value, StagedSet):
        return SequenceKind(set, tuple(Exact(item) for item in in_order(value)))
    frozen = value.frozen if isinstance(value, STAGED) else None
    if isinstance(value, list):
        return SequenceKind(list, tuple(describe(item, fresh) for item in value), frozen)
    if isinstance(value, dict) and dataclasses.is_dataclass(value):  # ModelOutput is both
        names = tuple(field.name for field in dataclasses.fields(value))
        items = tuple(describe(getattr(value, name), fresh) for name in names)
        return ObjectKind(type(value), names, items)
    if isinstance(value, dict):
        items = tuple(describe(v, fresh) for v in value.values())
        return MapKind(type(value), tuple(value), items, frozen)
    if is_plain_object(value):
        items = tuple(describe(item, fresh) for item in vars(value).values())
        return ObjectKind(type(value), tuple(vars(value)), items)
    return kind


def is_plain_object(value: Any) -> bool:
    """An instance of a Python class whose whole state is its `__dict__`."""
    cls: Any = type(value)
    return (
        hasattr(value, "__dict__")
        and not isinstance(value, NEVER_PLAIN)
        and cls.__module__ != "builtins"
        and cls.__reduce_ex__ is object.__reduce_ex__
        and not callable(value)
        and not any(vars(base).get("__slots__") for base in cls.__mro__[:-1])
    )


def _tensor_kind(tensor: torch.Tensor) -> TensorKind:
    sizes = tuple(
        size.node.expr if isinstance(size, torch.SymInt) else int(size) for size in tensor.shape
    )
    return TensorKind(tensor.dtype, tensor.device, sizes, tensor.requires_grad)


def generalise(kind: Kind) -> Kind:
    """`kind` with nothing in it that only the block it comes from can see."""
    wide = widen(kind)
    if (
        isinstance(wide, NumberKind)
        and isinstance(kind, Exact)
        and not isinstance(kind.value, Number | CapturedComplex)
    ):
        return kind
    if isinstance(wide, SequenceKind | MapKind | ObjectKind):
        return dataclasses.replace(wide, items=tuple(generalise(item) for item in wide.items))
    return wide


def signature(kind: Kind) -> tuple[Any, ...]:
    """Two kinds with one signature join into one kind without a choice."""
    wide = widen(kind)
    match wide:
        case TensorKind():
            return ("tensor", wide.dtype, wide.device, len(wide.sizes))
        case NumberKind():
            return ("number", wide.name)
        case ListKind():
            return ("sequence", wide.form, None)
        case SequenceKind():
            one = wide.type in (list, set, dict)
            return ("sequence", wide.type, None if one else len(wide.items))
        case MapKind() | ObjectKind():
            return ("map", wide.type, wide.keys)
        case Exact(value) if isinstance(value, Undefined):
            return ("undefined",)
        case Exact(value) if isinstance(value, SCALARS):
            return ("constant", type(value), value)
        case Exact(value):
            return ("object", id(value))
    return ("other", type(wide))


def merge(a: Kind, b: Kind) -> Kind:
    """The least kind that covers `a` and `b`."""
    if isinstance(a, Bottom) or a == b:
        return b
    if isinstance(b, Bottom):
        return a
    found: dict[tuple[Any, ...], Kind] = {}
    for alternative in (*_alternatives(a), *_alternatives(b)):
        key = signature(alternative)
        found[key] = _merge_alike(found[key], alternative) if key in found else alternative
    for form in (tuple, dict):
        _absorb(found, form)
    if len(found) == 1:
        return next(iter(found.values()))
    return UnionKind(tuple(generalise(kind) for kind in found.values()))


def _absorb(found: dict[tuple[Any, ...], Kind], form: type) -> None:
    """A tuple, or a dict, of unknown length covers those whose length is known."""
    whole = ("sequence", form, None)
    if whole not in found:
        return
    for key in [key for key in found if key != whole and _is_one_of(key, form)]:
        found[whole] = _merge_lists(found[whole], as_pairs(widen(found.pop(key))))


def _is_one_of(key: tuple[Any, ...], form: type) -> bool:
    if form is tuple:
        return key[0] == "sequence" and key[1] is tuple
    return key[0] == "map" and key[1] in (dict, StagedDict)


def opened(kind: Kind) -> Kind:
    """`kind` with one tuple of unknown length for tuples of three lengths: a loop makes them."""
    if isinstance(kind, SequenceKind | MapKind | ObjectKind):
        return dataclasses.replace(kind, items=tuple(map(opened, kind.items)))
    if not isinstance(kind, UnionKind):
        return kind
    tuples = [one for one in kind.alternatives if _is_one_of(signature(one), tuple)]
    if len(tuples) < 3:
        return kind
    whole: Kind = ListKind(BOTTOM, tuple)
    for one in kind.alternatives:
        whole = merge(whole, one)
    return whole


def as_pairs(kind: Kind) -> Kind:
    """A dict with known keys as the sequence of its pairs; any other kind as it is."""
    if not isinstance(kind, MapKind):
        return kind
    pairs = [(key, _present(item)) for key, item in zip(kind.keys, kind.items, strict=True)]
    items = tuple(SequenceKind(tuple, (Exact(k), item)) for k, item in pairs if item is not BOTTOM)
    return SequenceKind(dict, items)


def _present(kind: Kind) -> Kind:
    """`kind` of a value that is there: a key that is absent has no pair."""
    left = [one for one in _alternatives(kind) if signature(one) != ("undefined",)]
    found: Kind = BOTTOM
    for one in left:
        found = merge(found, one)
    return found


def _alternatives(kind: Kind) -> tuple[Kind, ...]:
    wide = widen(kind) if isinstance(kind, Exact) and isinstance(kind.value, Variant) else kind
    return wide.alternatives if isinstance(wide, UnionKind) else (wide,)


def _merge_alike(a: Kind, b: Kind) -> Kind:
    """The join of two kinds with one signature."""
    if a == b:
        return a
    a, b = widen(a), widen(b)
    match a, b:
        case TensorKind(), TensorKind():
            sizes = tuple(x if x == y else None for x, y in zip(a.sizes, b.sizes, strict=True))
            return TensorKind(a.dtype, a.device, sizes, a.requires_grad or b.requires_grad)
        case (ListKind(), _) | (_, ListKind()):
            return _merge_lists(a, b)
        case SequenceKind(), SequenceKind() if len(a.items) != len(b.items) or a.type is set:
            return _merge_lists(a, b)
        case (
            (SequenceKind(), SequenceKind()) | (MapKind(), MapKind()) | (ObjectKind(), ObjectKind())
        ):
            return _merge_items(a, b)
    return a


def _merge_items(a: Any, b: Any) -> Kind:
    """The join of two containers with as many items, one by one."""
    items = tuple(merge(x, y) for x, y in zip(a.items, b.items, strict=True))
    new: Kind = dataclasses.replace(a, items=items)
    return new if isinstance(a, ObjectKind) else _frozen_as(new, a, b)


def _frozen_as(kind: Any, a: Any, b: Any) -> Kind:
    """`kind`, which may not be changed where `a` or `b` may not."""
    new: Kind = dataclasses.replace(kind, frozen=a.frozen or b.frozen)
    return new


def listed(kind: Kind) -> Kind:
    """The kind of a list's items: a number in a list is any number."""
    if isinstance(kind, Exact) and isinstance(kind.value, bool | int | float):
        return widen(kind)
    if isinstance(kind, ListKind):  # reading an item freezes what is read
        return dataclasses.replace(kind, frozen=None)
    if isinstance(kind, SequenceKind | MapKind):
        return dataclasses.replace(kind, items=tuple(map(listed, kind.items)), frozen=None)
    if isinstance(kind, ObjectKind):
        return dataclasses.replace(kind, items=tuple(map(listed, kind.items)))
    if isinstance(kind, UnionKind):
        return UnionKind(tuple(map(listed, kind.alternatives)))
    return kind


def _merge_lists(a: Kind, b: Kind) -> ListKind:
    item: Kind = BOTTOM
    forms = [part.form if isinstance(part, ListKind) else part.type for part in (a, b)]  # type: ignore[union-attr]
    form = forms[0] if isinstance(a, ListKind) else forms[1]
    for part in (a, b):
        items = (part.item,) if isinstance(part, ListKind) else part.items  # type: ignore[union-attr]
        for kind in items:
            item = generalise(merge(item, _given_away(kind)))
    return _frozen_as(ListKind(listed(item), form), a, b)  # type: ignore[return-value]


def _given_away(kind: Kind) -> Kind:
    """`kind` for an item of a list of the program, which holds a copy of any list or dict."""
    if isinstance(kind, SequenceKind | MapKind):
        return dataclasses.replace(kind, items=tuple(map(_given_away, kind.items)))
    if isinstance(kind, UnionKind):
        return UnionKind(tuple(map(_given_away, kind.alternatives)))
    if not isinstance(kind, Exact):
        return kind
    freeze(kind.value)
    before = kind.fresh
    if is_plain_object(kind.value) and before(kind.value):
        raise UnsupportedCall(
            f"a {python_name(kind.value)} is put into a list whose length only a run knows",
            at=current_place(), fix="put tensors, numbers, tuples or lists into it",
        )  # fmt: skip
    return Exact(kind.value, lambda value: isinstance(value, STAGED) or before(value))


def merge_maps(kinds: Sequence[MapKind]) -> tuple[MapKind, ...]:
    """The same maps with one set of keys; a key that one of them lacks is Undefined there."""
    merged: list[Any] = []
    for kind in kinds:
        merged = _merge_order(merged, list(kind.keys))
    keys = tuple(merged)
    for kind in kinds:
        if [key for key in keys if key in kind.keys] != list(kind.keys):
            raise BranchMismatch(
                "the paths set the keys of a dict, or attributes, in different orders: "
                f"{', '.join(map(str, kind.keys))}",
                at=current_place(), fix="set them in one order, or before the branch",
            )  # fmt: skip
    return tuple(_with_keys(kind, keys) for kind in kinds)


def _merge_order(first: list[Any], second: list[Any]) -> list[Any]:
    """The keys of both: what only `second` has comes after what it follows there."""
    merged = list(first)
    for position, key in enumerate(second):
        if key not in merged:
            before = [other for other in second[:position] if other in merged]
            after = [other for other in second[position:] if other in merged]
            place = merged.index(before[-1]) + 1 if before else len(merged)
            merged.insert(merged.index(after[0]) if after and not before else place, key)
    return merged


def _with_keys(kind: MapKind, keys: tuple[Any, ...]) -> MapKind:
    present = dict(zip(kind.keys, kind.items, strict=True))
    items = tuple(present.get(key, Exact(Undefined(str(key)))) for key in keys)
    return MapKind(kind.type, keys, items, kind.frozen)


def leaf_types(kind: Kind) -> Iterator[Type]:
    """The types of the program values that a value of `kind` consists of, in order."""
    match kind:
        case TensorKind():
            shape = tuple("?" if size is None else _size_text(size) for size in kind.sizes)
            yield TensorType(str(kind.dtype).removeprefix("torch."), shape, str(kind.device))
        case NumberKind():
            yield NumberType(kind.name)
        case TextKind():
            yield TextType()
        case SequenceKind() | MapKind() | ObjectKind():
            for item in kind.items:
                yield from leaf_types(item)
        case ListKind():
            yield from (ListType(column) for column in column_types(kind.item))
        case UnionKind():
            yield NumberType("int")
            for alternative in kind.alternatives:
                yield from (_optional(leaf_type) for leaf_type in leaf_types(alternative))


def column_types(item: Kind) -> tuple[Type, ...]:
    """One column for each leaf of an item; an item without leaves has one too, to be counted."""
    return tuple(leaf_types(item)) or (NumberType("int"),)


def _optional(leaf_type: Type) -> Type:
    return leaf_type if isinstance(leaf_type, OptionalType) else OptionalType(leaf_type)


def _size_text(size: Size) -> int | str:
    return size if isinstance(size, int) else str(size)


def name_of(kind: Kind) -> str:
    """`kind` in words, for messages."""
    if isinstance(kind, Exact) and not isinstance(
        kind.value, torch.Tensor | Number | CapturedComplex
    ):
        value = kind.value
        return "undefined" if isinstance(value, Undefined) else _short(shown(value))
    wide = widen(kind)
    if isinstance(wide, UnionKind):
        return " or ".join(name_of(alternative) for alternative in wide.alternatives)
    if isinstance(wide, TensorKind | NumberKind):
        return str(next(leaf_types(wide)))
    if isinstance(wide, ListKind):
        return f"{wide.form.__name__} of {name_of(wide.item)}"
    if isinstance(wide, SequenceKind):
        return f"{wide.type.__name__} of {len(wide.items)}"
    return getattr(getattr(wide, "type", None), "__name__", "nothing")


def _short(text: str) -> str:
    return text if len(text) < 60 else text[:57] + "..."
