"""Attributes: what an object has under names, in its `__dict__`, in its slots, or as a class."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Any

from stator.values.containers import update_dict
from stator.values.slotted import slot_values, slots_of

TABLES = ("_parameters", "_buffers", "_modules")  # of a module
OF_A_CLASS = frozenset({"__dict__", "__weakref__"})  # descriptors that Python makes


def own_dict(obj: object) -> Mapping[str, Any]:
    """The `__dict__` of `obj`; nothing for a `super`, which looks at classes only."""
    own = getattr(obj, "__dict__", {})
    return own if isinstance(own, Mapping) and not isinstance(obj, super) else {}


def own_attribute(obj: object, name: str, default: object = None) -> Any:
    """What `obj` itself has under `name`, in its `__dict__` or in a slot."""
    own = own_dict(obj)
    if name in own:
        return own[name]
    member = None if isinstance(obj, type) else slots_of(type(obj)).get(name)
    try:
        return default if member is None else member.__get__(obj)
    except AttributeError:  # the slot is empty
        return default


def held_attribute(obj: object, name: str) -> Any:
    """The same; of a module, also its parameters, buffers and modules, which are in tables."""
    own = own_dict(obj)
    tables = [own[table] for table in TABLES if isinstance(own.get(table), dict)]
    found = next((table[name] for table in tables if name in table), None)
    return own_attribute(obj, name) if name in own or found is None else found


def class_entry(cls: type, name: str, default: object = None) -> Any:
    """What `cls` or a base of it has under `name`, as it is there."""
    for base in cls.__mro__:  # no generator: every attribute that is read comes here
        if name in vars(base):
            return vars(base)[name]
    return default


def class_attribute(obj: object, name: str, default: object = None) -> Any:
    """What `obj.name` is where `obj` itself has no such attribute."""
    for base in () if isinstance(obj, type) else type(obj).__mro__:
        if name in vars(base):
            found = vars(base)[name]
            if isinstance(found, types.MemberDescriptorType):
                return default
            return found.__get__(obj, type(obj)) if hasattr(type(found), "__get__") else found
    return default


def attributes_of(obj: object) -> dict[str, Any]:
    """The attributes that `obj` itself has."""
    if isinstance(obj, type):
        return {name: value for name, value in vars(obj).items() if name not in OF_A_CLASS}
    return {**own_dict(obj), **slot_values(obj)}


def write_attributes(obj: object, state: dict[str, Any]) -> None:
    """Make `state` the attributes of `obj`; a module, which others use, is empty at no time."""
    is_plain = not isinstance(obj, types.ModuleType) and not slots_of(type(obj))
    if is_plain and type(getattr(obj, "__dict__", None)) is dict:
        vars(obj).clear()
        vars(obj).update(state)
        return
    now = attributes_of(obj)
    changed = {name: value for name, value in state.items() if now.get(name, now) is not value}
    update_attributes(obj, changed, [name for name in now if name not in state])


def update_attributes(obj: Any, state: dict[str, Any], deleted: Sequence[Any] = ()) -> None:
    """Set the attributes of `state`, without those `deleted`, by the plain methods."""
    if isinstance(obj, type):
        for name in deleted:
            type.__delattr__(obj, name)
        for name, value in state.items():
            type.__setattr__(obj, name, value)
        return
    members = slots_of(type(obj))
    for name in deleted:
        if name in members:
            members[name].__delete__(obj)
    for name, value in state.items():
        if name in members:
            members[name].__set__(obj, value)
    if hasattr(obj, "__dict__"):
        own = {name: value for name, value in state.items() if name not in members}
        update_dict(vars(obj), own, [name for name in deleted if name not in members])
