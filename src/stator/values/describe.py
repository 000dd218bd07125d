"""describe(): the kind of a value, and what it consists of."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

import torch

from stator.program.layout import map_parts
from stator.values.arrays import CapturedArray
from stator.values.containers import (
    DATACLASS,
    DICT,
    EXCEPTION,
    LIST,
    OBJECT,
    SET,
    TUPLE,
    Containers,
    ContainerType,
    Entries,
    fill_dict,
    in_order,
)
from stator.values.kinds import (
    ContainerKind,
    Exact,
    Fresh,
    Kind,
    ListKind,
    NumberKind,
    PooledKind,
    TensorKind,
    TextKind,
    UnionKind,
    leaf_types,
    never,
)
from stator.values.pooled import Reference, pool_of
from stator.values.staged import (
    Columns,
    StagedContainer,
    StagedCounter,
    StagedDefaultDict,
    StagedDeque,
    StagedList,
    StagedOrderedDict,
    StagedSet,
    python_class_name,
    shown,
)
from stator.values.symbolic import CapturedComplex, CapturedText, Number, Undefined, kind_of_number
from stator.values.union import Union


def _new_dict_dataclass(cls: Any, contents: Entries) -> Any:
    """Without its `__init__`, which is for values that are known."""
    made = cls.__new__(cls)
    vars(made).update(zip(*contents, strict=True))
    fill_dict(made, {key: item for key, item in zip(*contents, strict=True) if item is not None})
    return made


ARRAY = dataclasses.replace(
    OBJECT, covers=lambda cls: issubclass(cls, CapturedArray),
    parts=lambda value: Entries(("tensor",), (value.tensor,)),
    new=lambda _, contents: CapturedArray(*contents.items),
)  # fmt: skip
DICT_DATACLASS = dataclasses.replace(  # transformers' outputs are both
    DATACLASS, covers=lambda cls: DATACLASS.covers(cls) and DICT.covers(cls),
    new=_new_dict_dataclass,
)  # fmt: skip
KNOWN_SET = dataclasses.replace(
    SET, is_known=lambda value: isinstance(value, StagedSet),
    new=lambda _, contents: StagedSet(contents.items),
)  # fmt: skip
KNOWN_LIST = dataclasses.replace(LIST, new=lambda _, contents: StagedList(contents.items))
# how kinds take values apart, and how a value of a kind is built
STAGED = Containers(TUPLE, ARRAY, KNOWN_SET, KNOWN_LIST, DICT_DATACLASS, DICT, EXCEPTION, OBJECT)
WITHOUT_IDENTITY = (TUPLE, ARRAY)
POSITIONAL = ("tuple", "list", "set")


def describe(value: object, fresh: Fresh = never) -> Kind:
    """The kind of `value` as it is."""
    if isinstance(value, Union):
        return UnionKind(tuple(generalise(Exact(item, fresh)) for item in value.alternatives))
    return Exact(value, fresh)


def describe_state(state: object, fresh: Fresh = never) -> Kind:
    """The kind of a mutable object's contents (see `contents.state_of`)."""
    if isinstance(state, Columns):
        return ListKind(state.item, state.form)
    if isinstance(state, frozenset) and not any(isinstance(i, torch.Tensor) for i in state):
        return ContainerKind(set, tuple(Exact(item) for item in in_order(state)))
    if isinstance(state, dict):
        items = tuple(describe(item, fresh) for item in state.values())
        return ContainerKind(dict, items, tuple(state))
    if isinstance(state, tuple):
        return ContainerKind(list, tuple(describe(item, fresh) for item in state))
    return Exact(state)


def widen(kind: Kind) -> Kind:
    """`kind` with an exact value opened one level: the form in which it can join another."""
    if not isinstance(kind, Exact):
        return kind
    value, fresh = kind.value, kind.fresh
    if isinstance(value, Union):
        return describe(value, fresh)
    if isinstance(value, torch.Tensor):
        return tensor_kind(value)
    is_number = isinstance(value, Number | CapturedComplex | bool | int | float | complex)
    if is_number and not isinstance(value, enum.Enum):  # a member is more than its number
        return NumberKind(kind_of_number(value))
    if isinstance(value, CapturedText):
        return TextKind()
    if isinstance(value, Reference):
        return PooledKind(pool_of(value))
    entry = STAGED.of(value)
    if entry is not None and entry in WITHOUT_IDENTITY:
        return _opened(entry, value, fresh)
    return _widen_container(kind, entry) if fresh(value) else kind


def _widen_container(kind: Exact, entry: ContainerType | None) -> Kind:
    """A list, dict or object that has no other name, opened one level."""
    value, fresh = kind.value, kind.fresh
    if isinstance(value, StagedDeque | StagedDefaultDict | StagedCounter | StagedOrderedDict):
        return kind
    if isinstance(value, StagedContainer) and value.columns is not None:
        return ListKind(value.columns.item, value.columns.form, value.frozen, value.sites)
    if entry is None:
        return kind
    opened = _opened(entry, value, fresh)
    if not isinstance(value, StagedContainer):
        return opened
    frozen = None if isinstance(value, StagedSet) else value.frozen
    return dataclasses.replace(opened, frozen=frozen, sites=value.sites)


def _opened(entry: ContainerType, value: object, fresh: Fresh) -> ContainerKind:
    keys, items = entry.parts(value)
    named = CapturedArray if entry is ARRAY else type(value)
    cls = {"list": list, "set": set}.get(entry.name, named)
    kinds = tuple(describe(item, never if entry.name == "set" else fresh) for item in items)
    return ContainerKind(cls, kinds, None if entry.name in POSITIONAL else keys)


def tensor_kind(tensor: torch.Tensor) -> TensorKind:
    """The kind of a tensor, its sizes included."""
    sizes = tuple(
        size.node.expr if isinstance(size, torch.SymInt) else int(size) for size in tensor.shape
    )
    return TensorKind(tensor.dtype, tensor.device, sizes, tensor.requires_grad)


def generalise(kind: Kind) -> Kind:
    """`kind` with nothing in it that only the block it comes from can see."""
    wide = widen(kind)
    is_constant = isinstance(kind, Exact) and not isinstance(kind.value, Number | CapturedComplex)
    if isinstance(wide, NumberKind) and is_constant:
        return kind
    return map_parts(generalise, wide) if isinstance(wide, ContainerKind) else wide


def first_forms(kind: Kind) -> str:
    """`kind` in words; of many alternatives the first few."""
    forms = forms_of(kind)
    return " or ".join(forms[:4]) + (f" (and {len(forms) - 4} more)" if len(forms) > 4 else "")


def forms_of(kind: Kind) -> list[str]:
    """The alternatives of `kind`, each in words."""
    return name_of(kind).split(" or ")


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
        return f"{python_class_name(wide.form)} of {name_of(wide.item)}"
    if isinstance(wide, PooledKind):
        return python_class_name(wide.pool.form)
    if isinstance(wide, ContainerKind):
        count = f" of {len(wide.items)}" if wide.keys is None else ""
        return python_class_name(wide.type) + count
    return "nothing"


def _short(text: str) -> str:
    return text if len(text) < 60 else text[:57] + "..."
