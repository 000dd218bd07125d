"""The container registry: how values of each container type come apart and are put together.

One `ContainerType` says all there is to know about a family of types. A walk names the containers
that it opens (`ARGUMENTS.map(function, tree)`); whatever none of them covers is a leaf.
To support another container type, add an entry here.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch

from stator.program.structure import size_fields
from stator.values import exceptions
from stator.values.slotted import HEAP_TYPE, has_open_slots, set_attributes, slot_values, slots_of
from stator.values.symbolic import CapturedComplex, CapturedText, Undefined

Path = tuple[Any, ...]  # the keys that lead to a part
Name = Literal["list", "tuple", "dict", "set", "namedtuple", "dataclass", "object", "exception"]


class Entries(NamedTuple):
    """The keys of a container (positions, dict keys, names of fields), and what it has there."""

    keys: tuple[Any, ...]
    items: tuple[Any, ...]


@dataclass(frozen=True)
class ContainerType:
    """A family of container types.

    `new(cls, parts)` makes a value of a class; `like(value, items)` a value as `value` is, with
    other items in the same places.
    """

    name: Name
    covers: Callable[[type], bool]
    parts: Callable[[Any], Entries]
    new: Callable[[Any, Entries], Any]
    like: Callable[[Any, Sequence[Any]], Any]
    get: Callable[[Any, Any], Any]
    is_known: Callable[[Any], bool] = lambda _: True  # can this value be taken apart?


class Containers:
    """The containers that a walk opens, in the order in which they are tried."""

    def __init__(self, *entries: ContainerType) -> None:
        self.entries = entries

    def of_type(self, cls: type) -> ContainerType | None:
        """The container that covers instances of `cls`."""
        return next((entry for entry in self.entries if entry.covers(cls)), None)

    def of(self, value: object) -> ContainerType | None:
        """The container that `value` is; None if it is a leaf of this walk."""
        entry = self.of_type(type(value))
        return entry if entry is not None and entry.is_known(value) else None

    def parts(self, value: object) -> Entries | None:
        """The parts of `value`; None if it is a leaf of this walk."""
        entry = self.of(value)
        return None if entry is None else entry.parts(value)

    def like(self, value: object, items: Sequence[Any]) -> Any:
        """A container as `value` is, with other items."""
        entry = self.of(value)
        assert entry is not None
        return entry.like(value, items)

    def map(self, function: Callable[[Any], Any], tree: object, *, keep: bool = False) -> Any:
        """`tree`, built again with `function` applied to each leaf.

        With `keep`, a container whose leaves all stay the same is not copied.
        """
        return self.map_paths(lambda leaf, _: function(leaf), tree, keep=keep)

    def map_paths(
        self,
        function: Callable[[Any, Path], Any],
        tree: object,
        path: Path = (),
        *,
        keep: bool = False,
    ) -> Any:
        """`map`, where `function` also gets the path of each leaf."""
        entry = self.of(tree)
        if entry is None:
            return function(tree, path)
        keys, items = entry.parts(tree)
        new = [
            self.map_paths(function, item, (*path, key), keep=keep)
            for key, item in zip(keys, items, strict=True)
        ]
        return tree if keep and same_items(new, items) else entry.like(tree, new)

    def leaves(self, tree: object) -> Iterator[Any]:
        """The leaves of `tree`, in order."""
        parts = self.parts(tree)
        if parts is None:
            yield tree
            return
        for item in parts.items:
            yield from self.leaves(item)

    def paths(self, tree: object, path: Path = ()) -> Iterator[tuple[Path, Any]]:
        """The leaves of `tree`, in order, each with its path."""
        parts = self.parts(tree)
        if parts is None:
            yield path, tree
            return
        for key, item in zip(*parts, strict=True):
            yield from self.paths(item, (*path, key))

    def get(self, tree: object, path: Path) -> Any:
        """The part of `tree` at `path`."""
        for key in path:
            entry = self.of(tree)
            if entry is None:
                raise KeyError(key)
            tree = entry.get(tree, key)
        return tree


def same_items(new: Sequence[object], old: Sequence[object]) -> bool:
    """Are they the same objects, one by one?"""
    return len(new) == len(old) and all(a is b for a, b in zip(new, old, strict=True))


# ---- tuples


def has_fields(cls: type) -> bool:
    """Is it a tuple type made by `namedtuple`?"""
    return issubclass(cls, tuple) and hasattr(cls, "_fields")


def is_named_tuple(cls: type) -> bool:
    """Is it a tuple type whose items have names? So have `torch.Size` and torch's return types."""
    return has_fields(cls) or cls is torch.Size or _is_return_type(cls)


def _is_return_type(cls: type) -> bool:
    return cls.__module__ == "torch.return_types"


def record_fields(cls: Any, length: int) -> tuple[str, ...] | None:
    """The fields of a dataclass, or of a named tuple type with so many items; None of others."""
    if dataclasses.is_dataclass(cls):
        return field_names(cls)
    if cls is torch.Size:
        return size_fields(length)
    fields = getattr(cls, "__match_args__" if _is_return_type(cls) else "_fields", None)
    return fields if issubclass(cls, tuple) and isinstance(fields, tuple) else None


def _named_tuple_parts(value: tuple[Any, ...]) -> Entries:
    return Entries(record_fields(type(value), len(value)) or (), tuple(value))


def _new_tuple(cls: Any, items: Sequence[Any]) -> Any:
    """By the plain method: a class may have a `__new__` of its own."""
    if cls is torch.Size or _is_return_type(cls):
        return cls(items)
    return tuple.__new__(cls, items)


# ---- lists, dicts and sets


def _positions(value: Sequence[Any]) -> Entries:
    return Entries(tuple(range(len(value))), tuple(value))


def _list_like(value: list[Any], items: Sequence[Any]) -> list[Any]:
    """A list of the same class, with its attributes."""
    if type(value) is list:
        return list(items)
    made = copy.copy(value)
    made[:] = items
    return made


def _dict_parts(value: dict[Any, Any]) -> Entries:
    """As `dict` reads it: a subclass may make items when it is asked for them."""
    return Entries(tuple(dict.keys(value)), tuple(dict.values(value)))


def _dict_like(value: dict[Any, Any], items: Sequence[Any]) -> dict[Any, Any]:
    if type(value) is dict:
        return dict(zip(value, items, strict=True))
    made = copy.copy(value)
    fill_dict(made, dict(zip(value, items, strict=True)))
    return made


def _new_dict(cls: Any, contents: Entries) -> Any:
    made = {} if cls is dict else cls()
    fill_dict(made, dict(zip(*contents, strict=True)))
    return made


def plain_items(obj: dict[Any, Any]) -> dict[Any, Any]:
    """What a dict holds, in its order, by the plain methods: those of a subclass may compute."""
    return {key: dict.__getitem__(obj, key) for key in _plain_dict(obj).__iter__(obj)}


def fill_dict(obj: dict[Any, Any], contents: dict[Any, Any]) -> None:
    """Make `contents` those of a dict, by the plain methods: a subclass may forbid its own."""
    _plain_dict(obj).clear(obj)
    update_dict(obj, contents)


def update_dict(obj: dict[Any, Any], contents: dict[Any, Any], deleted: Sequence[Any] = ()) -> None:
    """Set the items of `contents` in a dict, without those `deleted`, by the plain methods.

    `update` of a Counter would add to what it has counted.
    """
    plain = _plain_dict(obj)
    for key in deleted:
        if dict.__contains__(obj, key):
            plain.__delitem__(obj, key)
    for key, value in contents.items():
        plain.__setitem__(obj, key, value)


def _plain_dict(obj: dict[Any, Any]) -> type[dict[Any, Any]]:
    return collections.OrderedDict if isinstance(obj, collections.OrderedDict) else dict


def in_order(items: set[Any] | frozenset[Any]) -> tuple[Any, ...]:
    """The items of a set in an order that does not depend on their hashes."""
    plain = frozenset(items)  # without the methods of a subclass
    return tuple(sorted(plain, key=lambda item: (type(item).__name__, repr(item))))


def _set_parts(value: set[Any] | frozenset[Any]) -> Entries:
    items = in_order(value)
    return Entries(tuple(range(len(items))), items)


# ---- objects


def field_names(cls: Any) -> tuple[str, ...]:
    """The fields of a dataclass."""
    return tuple(field.name for field in dataclasses.fields(cls))


def _field_parts(value: object) -> Entries:
    names = field_names(value)
    return Entries(names, tuple(getattr(value, name) for name in names))


def own_attributes(value: object) -> dict[str, Any]:
    """The attributes of an object of a plain class."""
    return {**getattr(value, "__dict__", {}), **slot_values(value)}


def _object_parts(value: object) -> Entries:
    attributes = own_attributes(value)
    return Entries(tuple(attributes), tuple(attributes.values()))


def _fields_like(value: object, items: Sequence[Any]) -> Any:
    """`value` itself, or a copy where a field changes: others may hold it."""
    keys, old = _field_parts(value)
    if same_items(items, old):
        return value
    made = copy.copy(value)
    for name, item in zip(keys, items, strict=True):
        object.__setattr__(made, name, item)  # also where the class is frozen
    return made


def _object_like(value: object, items: Sequence[Any]) -> Any:
    made = copy.copy(value)
    set_attributes(made, zip(own_attributes(value), items, strict=True))
    return made


def _new_dataclass(cls: Any, contents: Entries) -> Any:
    """As it was when it came apart: `__post_init__` ran then.

    A dataclass that is a dict as well (transformers' outputs) is filled by its own `__init__`.
    """
    items = dict(zip(*contents, strict=True))
    by_init = cls.__dataclass_params__.init and issubclass(cls, dict)
    given = {f.name: items.pop(f.name) for f in dataclasses.fields(cls) if by_init and f.init}
    made = cls(**given) if by_init else object.__new__(cls)
    for name, item in items.items():
        object.__setattr__(made, name, item)
    return made


def _new_object(cls: Any, contents: Entries) -> Any:
    """Without the `__new__` of the class, which may take arguments."""
    builtin: Any = next(base for base in cls.__mro__ if not base.__flags__ & HEAP_TYPE)
    made = builtin.__new__(cls)
    set_attributes(made, zip(*contents, strict=True))
    return made


NEVER_PLAIN = (
    torch.nn.Module, torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool, type, Undefined,
    CapturedText, CapturedComplex, BaseException,
)  # fmt: skip


WITHOUT_HIDDEN_STATE = ("builtins", "collections", "types")  # or other code knows what it is


def _has_hidden_state(cls: type) -> bool:
    """Is it a class written in C that makes its objects itself, such as `io.StringIO`?"""
    if cls.__module__ in WITHOUT_HIDDEN_STATE:
        return False
    return isinstance(vars(cls).get("__new__"), types.BuiltinFunctionType)


def is_plain_class(cls: Any) -> bool:
    """Is the whole state of its instances in plain attributes: in their `__dict__`, or in slots?"""
    return bool(
        (cls.__dictoffset__ != 0 or slots_of(cls))
        and cls.__module__ != "builtins"
        and cls.__reduce_ex__ is object.__reduce_ex__
        and not issubclass(cls, NEVER_PLAIN)
        and not any(map(_has_hidden_state, cls.__mro__))
        and not any("__call__" in vars(base) for base in cls.__mro__)
        and (not slots_of(cls) or has_open_slots(cls))
    )


def is_plain_object(value: object) -> bool:
    """Is its whole state in plain attributes?"""
    return is_plain_class(type(value))


TUPLE = ContainerType(
    "tuple", lambda cls: issubclass(cls, tuple), _positions,
    lambda cls, parts: _new_tuple(cls, parts.items),
    lambda value, items: _new_tuple(type(value), items),
    lambda value, key: value[key],
)  # fmt: skip
NAMED_TUPLE = dataclasses.replace(
    TUPLE, name="namedtuple", covers=is_named_tuple, parts=_named_tuple_parts,
    get=lambda value, key: value[_named_tuple_parts(value).keys.index(key)],
)  # fmt: skip
LIST = ContainerType(
    "list", lambda cls: issubclass(cls, list), _positions,
    lambda cls, parts: cls(parts.items), _list_like, lambda value, key: value[key],
)  # fmt: skip
DICT = ContainerType(
    "dict", lambda cls: issubclass(cls, dict), _dict_parts, _new_dict, _dict_like,
    lambda value, key: value[key],
)  # fmt: skip
SET = ContainerType(
    "set", lambda cls: issubclass(cls, set | frozenset), _set_parts,
    lambda cls, parts: cls(parts.items), lambda value, items: type(value)(items),
    lambda value, key: in_order(value)[key],
)  # fmt: skip


def _given_dict(value: dict[Any, Any], items: Sequence[Any]) -> dict[Any, Any]:
    """A dict of the same class, but for records that are dicts as well."""
    if dataclasses.is_dataclass(value):
        return dict(zip(value, items, strict=True))
    return _dict_like(value, items)


GIVEN_DICT = dataclasses.replace(DICT, like=_given_dict)  # an argument
DATACLASS = ContainerType(
    "dataclass", dataclasses.is_dataclass, _field_parts, _new_dataclass, _fields_like, getattr,
)  # fmt: skip
OBJECT = ContainerType(
    "object", is_plain_class, _object_parts, _new_object, _object_like,
    lambda value, key: own_attributes(value)[key],
)  # fmt: skip
EXCEPTION = ContainerType(  # its arguments have numbers, and the rest names
    "exception", lambda cls: issubclass(cls, Exception),
    lambda value: Entries(*exceptions.entries_of(value)),
    lambda cls, contents: exceptions.exception_of_items(cls, *contents),
    lambda value, items: exceptions.exception_of_items(
        type(value), exceptions.entries_of(value)[0], items
    ),
    lambda value, key: dict(zip(*exceptions.entries_of(value), strict=True))[key],
)  # fmt: skip
