"""What `|`, `&`, `-` and `^` of two sets hold, written out in Python over lists of their items."""

from __future__ import annotations

from stator.containers.definitions import contains
from stator.values.annotations import Staged


def items_of_both(left: Staged, right: Staged) -> Staged:
    """The items of `left | right`."""
    items = list(left)
    for item in right:
        if not contains(left, item):
            items.append(item)
    return items


def common_items(left: Staged, right: Staged) -> Staged:
    """The items of `left & right`."""
    items = []
    for item in left:
        if contains(right, item):
            items.append(item)
    return items


def other_items(left: Staged, right: Staged) -> Staged:
    """The items of `left - right`."""
    items = []
    for item in left:
        if not contains(right, item):
            items.append(item)
    return items


def items_of_one(left: Staged, right: Staged) -> Staged:
    """The items of `left ^ right`."""
    return other_items(left, right) + other_items(right, left)


def lacks_one(items: Staged, known: Staged) -> Staged:
    """Is one of `known` not in the set `items`?"""
    return any(item not in items for item in known)
