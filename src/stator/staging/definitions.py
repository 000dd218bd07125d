"""Builtins written out in Python: converted like user code where their operands are captured."""

from __future__ import annotations

from typing import Any

_NO_DEFAULT = object()


def sum_of(items: Any, start: Any = 0) -> Any:
    """`sum(items, start)`."""
    for item in items:
        start = start + item
    return start


def any_of(items: Any) -> Any:
    """`any(items)`."""
    for item in items:
        if item:
            return True
    return False


def all_of(items: Any) -> Any:
    """`all(items)`."""
    for item in items:
        if not item:
            return False
    return True


def max_of(items: Any, key: Any = None, default: Any = _NO_DEFAULT) -> Any:
    """`max(items, key=key, default=default)`."""
    found = False
    best = best_key = None
    for item in items:
        item_key = item if key is None else key(item)
        if not found or item_key > best_key:
            best, best_key = item, item_key
            found = True
    if not found:
        if default is _NO_DEFAULT:
            raise ValueError("max() iterable argument is empty")
        best = default
    return best


def min_of(items: Any, key: Any = None, default: Any = _NO_DEFAULT) -> Any:
    """`min(items, key=key, default=default)`."""
    found = False
    best = best_key = None
    for item in items:
        item_key = item if key is None else key(item)
        if not found or item_key < best_key:
            best, best_key = item, item_key
            found = True
    if not found:
        if default is _NO_DEFAULT:
            raise ValueError("min() iterable argument is empty")
        best = default
    return best


def list_of(items: Any) -> Any:
    """`list(items)`."""
    result = []
    for item in items:
        result.append(item)
    return result


def filtered(function: Any, items: Any) -> Any:
    """`filter(function, items)`, as a list."""
    result = []
    for item in items:
        if item if function is None else function(item):
            result.append(item)
    return result


def contains(items: Any, wanted: Any) -> Any:
    """`wanted in items`."""
    for item in items:
        if item == wanted:
            return True
    return False


def enumerated(items: Any, start: Any = 0) -> Any:
    """`enumerate(items, start)`."""
    for item in items:
        yield start, item
        start = start + 1


def sorted_of(items: Any, key: Any = None, reverse: Any = False) -> Any:
    """`sorted(items)`: stable, as every exchange is of neighbours that are out of order."""
    result = list(items)
    keys = [item if key is None else key(item) for item in result]
    for end in range(1, len(result)):
        for k in range(end, 0, -1):
            if keys[k - 1] < keys[k] if reverse else keys[k] < keys[k - 1]:
                keys[k - 1], keys[k] = keys[k], keys[k - 1]
                result[k - 1], result[k] = result[k], result[k - 1]
    return result


def index_of(items: Any, wanted: Any) -> Any:
    """`items.index(wanted)`."""
    for position, item in enumerate(items):
        if item is wanted or item == wanted:
            return position
    raise ValueError("list.index(x): x not in list")


def count_of(items: Any, wanted: Any) -> Any:
    """`items.count(wanted)`."""
    count = 0
    for item in items:
        if item is wanted or item == wanted:
            count = count + 1
    return count
