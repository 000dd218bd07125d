"""Slots: the attributes that a class keeps outside the `__dict__` of its instances."""

from __future__ import annotations

import types
import weakref
from collections.abc import Iterable
from typing import Any

HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class that a `class` statement has made
Members = dict[str, types.MemberDescriptorType]
# By the id of the class, until it goes: a WeakKeyDictionary takes ten times as long, at each call.
_SLOTS: dict[int, tuple[Members, weakref.ref[type]]] = {}


def slots_of(cls: type) -> Members:
    """The slots of the instances of `cls`, by name."""
    number = id(cls)
    found = _SLOTS.get(number)
    if found is None:
        alive = weakref.ref(cls, lambda _: _SLOTS.pop(number, None))
        found = _SLOTS[number] = (_find_slots(cls), alive)
    return found[0]


def _find_slots(cls: type) -> Members:
    found: Members = {}
    for base in reversed(cls.__mro__):
        if "__slots__" in vars(base):
            members = (
                m for m in vars(base).items() if isinstance(m[1], types.MemberDescriptorType)
            )
            found.update(members)
    return found


def slot_values(obj: object) -> dict[str, Any]:
    """What `obj` has in slots that are not empty."""
    found = {}
    for name, member in slots_of(type(obj)).items():
        try:
            found[name] = member.__get__(obj)
        except AttributeError:  # the slot is empty
            continue
    return found


def set_attributes(obj: object, attributes: Iterable[tuple[str, Any]]) -> None:
    """Put `attributes` into `obj` by the plain methods."""
    members = slots_of(type(obj))
    for name, value in attributes:
        if name in members:
            members[name].__set__(obj, value)
        else:
            vars(obj)[name] = value


def has_open_slots(cls: Any) -> bool:
    """Are the slots of `cls` plain attributes? A class with its own way of copying hides them."""
    return bool(
        all(base.__flags__ & HEAP_TYPE for base in cls.__mro__[:-1])
        and cls.__reduce__ is object.__reduce__
        and cls.__setattr__ is object.__setattr__
        and getattr(cls, "__getstate__", None) is getattr(object, "__getstate__", None)
    )
