"""Leaving: objects of other classes than list, tuple and dict, as a program gives them back.

A run gives their contents as a list, a tuple or a dict, and Python makes the object of that.
"""

from __future__ import annotations

import collections
import dis
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch

from stator.errors import CaptureError
from stator.values.containers import DATACLASS, fill_dict, in_order, is_plain_object, plain_items
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
from stator.values.symbolic import CannotLeave
from stator.values.union import Symbolic

WRITES = frozenset({"STORE_DEREF", "DELETE_DEREF"})
MUTABLE = (list, dict, set, collections.deque)


class Departure(NamedTuple):
    """What Python makes of the contents of an object, and what it is called."""

    name: str
    convert: Callable[[Any], Any]
    contents: Any


def departure_of(value: Any) -> Departure | None:
    """How `value` is made again of its contents; None if a program gives it as it is, or not."""
    if isinstance(value, CannotLeave):
        given = value.given()
        return None if given is None else Departure(*given)
    if isinstance(value, StagedDeque):
        return Departure("deque", functools.partial(_deque, value.maxlen), _as_list(value))
    if isinstance(value, slice):
        return Departure("slice", _slice, (value.start, value.stop, value.step))
    if isinstance(value, set | frozenset):
        cls = set if isinstance(value, StagedSet) else type(value)
        return Departure(cls.__name__, cls, _as_list(value))
    if isinstance(value, StagedCounter):
        return Departure("Counter", collections.Counter, _as_dict(value))
    if isinstance(value, StagedOrderedDict):
        return Departure("OrderedDict", collections.OrderedDict, _as_dict(value))
    if isinstance(value, StagedDefaultDict):
        factory = functools.partial(_default_dict, value.default_factory)
        return Departure("defaultdict", factory, _as_dict(value))
    if isinstance(value, collections.defaultdict):
        factory = functools.partial(_default_dict, value.default_factory)
        return Departure("defaultdict", factory, plain_items(value))
    cls = type(value)
    if DATACLASS.covers(cls):
        return None
    if isinstance(value, dict) and cls not in (dict, StagedDict):
        return _with_attributes(cls, _dict_of, plain_items(value), value)
    if isinstance(value, list) and cls not in (list, StagedList):
        return _with_attributes(cls, _list_of, list(list.__iter__(value)), value)
    return None


def departure_of_method(method: Any) -> Departure:
    """How a method of a captured tensor is made again: of the tensor, by its name."""
    return Departure("method", functools.partial(_method, method.__name__), (method.__self__,))


def _method(name: str, owner: tuple[Any]) -> Any:
    return getattr(owner[0], name)


def departure_of_class(cls: type) -> Callable[[Any], Any] | None:
    """What makes an instance of `cls` of a dict; None if a dict is what it is."""
    if cls in (dict, StagedDict) or not issubclass(cls, dict):
        return None
    return functools.partial(_dict_of, cls)


def _slice(bounds: tuple[Any, Any, Any]) -> slice:
    return slice(*bounds)


def _as_list(value: Any) -> StagedList:
    """A new list with the items of a deque or a set."""
    columns = value.columns if isinstance(value, StagedContainer) else None
    if columns is not None:
        made = StagedList()
        made.columns = type(columns)(columns.item, columns.values)
        return made
    return StagedList(in_order(value) if isinstance(value, set | frozenset) else value)


def _as_dict(value: StagedDict) -> StagedDict:
    made = StagedDict(() if value.is_open else plain_items(value))
    made.columns = value.columns
    return made


def _with_attributes(cls: type, make: Any, contents: Any, value: object) -> Departure:
    attributes = dict(getattr(value, "__dict__", {}))
    if not attributes:
        return Departure(cls.__name__, functools.partial(make, cls), contents)
    whole = functools.partial(_set_attributes, functools.partial(make, cls))
    return Departure(cls.__name__, whole, (contents, attributes))


def _set_attributes(make: Callable[[Any], Any], given: tuple[Any, dict[str, Any]]) -> Any:
    made = make(given[0])
    vars(made).update(given[1])
    return made


def _deque(maxlen: int | None, items: list[Any]) -> collections.deque[Any]:
    return collections.deque(items, maxlen)


def _default_dict(factory: Any, items: dict[Any, Any]) -> collections.defaultdict[Any, Any]:
    return collections.defaultdict(factory, items)


def _dict_of(cls: Any, items: dict[Any, Any]) -> Any:
    """By the plain methods: the class may have an `__init__` or a `__setitem__` of its own."""
    made = cls.__new__(cls)
    fill_dict(made, items)
    return made


def _list_of(cls: Any, items: list[Any]) -> Any:
    made = cls.__new__(cls)
    list.extend(made, items)
    return made


def as_parameter(tensor: torch.Tensor) -> torch.Tensor:
    """`tensor`, which a run has made for this very call, as the Parameter that eager code has."""
    if type(tensor) is torch.Tensor:
        tensor.__class__ = torch.nn.Parameter
    return tensor


# ---- functions that the call makes


def refuse_bound_function(function: types.FunctionType) -> None:
    """An error for a function that the capture has made, and that keeps values of the capture.

    Each call of eager code makes another one, with variables of its own.
    """
    names = function.__code__.co_freevars
    cells = dict(zip(names, function.__closure__ or (), strict=True))
    cells.pop("stator__", None)
    held = (
        *(function.__defaults__ or ()),
        *(function.__kwdefaults__ or {}).values(),
        *map(_content, cells.values()),
    )
    if any(map(_is_of_the_capture, held)) or _written(function.__code__) & {*cells}:
        raise CaptureError(
            f"the function `{function.__name__}`, which the call makes, is returned or kept "
            "outside with variables of the call",
            fix="return what it needs, and make the function outside",
        )  # fmt: skip


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _is_of_the_capture(value: Any) -> bool:
    return isinstance(value, (Symbolic, StagedContainer, *MUTABLE)) or is_plain_object(value)


def _written(code: types.CodeType) -> frozenset[str]:
    """The variables of enclosing functions that `code`, or a function in it, assigns."""
    return frozenset(_stores(code)) & {*code.co_freevars}


def _stores(code: types.CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in WRITES:
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _stores(constant)
