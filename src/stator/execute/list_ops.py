"""What the list ops do: a table of Python functions.

A list is a value: an op that changes one gives a new list. `LIST_CHANGES` change the list that they
are given; the interpreter gives them a copy, unless this is the last use of the list and nothing
else holds it. So n appends take time proportional to n.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from sys import getrefcount
from types import MappingProxyType
from typing import Any, TypeVar

import torch

Key = TypeVar("Key")


def _list_make(*items: Any) -> list[Any]:
    return list(items)


def _list_get(items: list[Any], index: int) -> Any:
    return items[index]


def _list_slice(
    items: list[Any], start: int | None = None, stop: int | None = None, step: int | None = None
) -> list[Any]:
    return items[start:stop:step]


def _list_order(reverse: bool, *columns: list[Any]) -> list[int]:
    """The indexes of the items, in the order that `sorted` gives them."""
    keys: Any = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    return sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)


def _list_tensor(items: list[Any], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    return torch.tensor(items, dtype=dtype, device=device)


LIST_FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "stator::list_make": _list_make,
        "stator::list_length": len,
        "stator::list_get": _list_get,
        "stator::list_slice": _list_slice,
        "stator::list_order": _list_order,
        "stator::list_tensor": _list_tensor,
        "stator::tensor_list": torch.Tensor.tolist,
    }
)


def _set(items: list[Any], index: int, item: Any) -> None:
    items[index] = item


def _delete(items: list[Any], index: int) -> None:
    del items[index]


LIST_CHANGES: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "stator::list_append": list.append,
        "stator::list_insert": list.insert,
        "stator::list_set": _set,
        "stator::list_delete": _delete,
    }
)


def _references(values: Mapping[Key, Any], key: Key) -> int:
    return getrefcount(values[key])


# NOTE: why this is measured: how many references a call itself holds differs between Pythons.
SOLE = _references({0: []}, 0)


def is_only_owner(values: Mapping[Key, Any], key: Key) -> bool:
    """True if nothing but `values[key]` holds that object.

    Another value of the program, the caller, a snapshot for a handler, a list that it is an item
    of: whatever else could see a change also counts as a reference.
    """
    return _references(values, key) == SOLE
