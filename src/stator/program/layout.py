"""Layouts: what a Python value consists of, and the walks that every layout shares.

A layout is a tree of frozen dataclasses. Its inner nodes belong to three families:

    Node          a container: `items` has the layout of each part, `keys` the key of each
    Alternatives  one of `alternatives`; a run decides which
    Repeated      a container whose length only a run knows: `item` is the layout of every item

Anything else is a leaf. The structures of a program (`program/structure.py`) are layouts with
positions as leaves; the kinds of a capture (`values/kinds.py`) are layouts with abstract values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

S = TypeVar("S")
T = TypeVar("T")


class Node:
    """A container with known keys: a dataclass with the field `items`."""

    items: tuple[Any, ...]


class Alternatives:
    """One of several layouts: a dataclass with the field `alternatives`."""

    alternatives: tuple[Any, ...]


class Repetition:
    """Any number of values of one layout: a dataclass with the field `item`."""

    item: Any


INNER = (Node, Alternatives, Repetition)


def parts(layout: T) -> tuple[T, ...]:
    """The layouts directly inside `layout`; none for a leaf."""
    if isinstance(layout, Node):
        return layout.items
    if isinstance(layout, Alternatives):
        return layout.alternatives
    return (layout.item,) if isinstance(layout, Repetition) else ()


def with_parts(layout: T, new: Sequence[Any]) -> T:
    """`layout` with other layouts inside; itself if they are the same objects."""
    old = parts(layout)
    if len(old) == len(new) and all(a is b for a, b in zip(old, new, strict=True)):
        return layout
    name = "items" if isinstance(layout, Node) else "alternatives"
    field = {"item": new[0]} if isinstance(layout, Repetition) else {name: tuple(new)}
    data: Any = layout
    changed: T = dataclasses.replace(data, **field)
    return changed


def map_parts(function: Callable[[S], S], layout: T) -> T:
    """`layout` with `function` applied to each layout directly inside; a leaf as it is."""
    inner: tuple[Any, ...] = parts(layout)
    return with_parts(layout, [function(part) for part in inner])


def map_layout(function: Callable[[T], T], layout: T) -> T:
    """`layout` with `function` applied to each node and leaf, innermost first.

    A layout that occurs twice, as one object, gives one object: it describes one container.
    """
    done: dict[int, T] = {}

    def visit(inner: T) -> T:
        if id(inner) not in done:
            done[id(inner)] = function(map_parts(visit, inner))
        return done[id(inner)]

    return visit(layout)


def nodes(layout: T) -> Iterator[T]:
    """`layout` and all that it consists of, outermost first."""
    yield layout
    for part in parts(layout):
        yield from nodes(part)


def leaves(layout: T) -> Iterator[T]:
    """The leaves of `layout`, in order."""
    return (node for node in nodes(layout) if not isinstance(node, INNER))


def same_form(one: object, other: object) -> bool:
    """Are they containers of one class with the same keys, or unions or lists that agree as far?"""
    if type(one) is not type(other) or len(parts(one)) != len(parts(other)):
        return False
    data: Any = one
    return isinstance(one, INNER) and all(
        getattr(one, field.name) == getattr(other, field.name)
        for field in dataclasses.fields(data)
        if field.name not in ("items", "alternatives", "item")
    )


def zip_layouts(join: Callable[[T, T], T | None], one: T, other: T) -> T | None:
    """One layout made of two, part by part; None where they have none in common.

    `join` gets two leaves, or two nodes of different form, and gives their layout or None.
    """
    if not same_form(one, other):
        return join(one, other)
    joined = []
    for a, b in zip(parts(one), parts(other), strict=True):
        part = zip_layouts(join, a, b)
        if part is None:
            return None
        joined.append(part)
    return with_parts(one, joined)
