"""`dataclasses.asdict`, `astuple` and `replace`, written out in Python.

They are converted like user code: `copy.deepcopy`, which they call, cannot copy a captured tensor.
"""

from __future__ import annotations

import copy
import dataclasses

import torch

from stator.values.annotations import Staged

ATOMS = (bool, int, float, complex, str, bytes, type(None))


def asdict(obj: Staged, *, dict_factory: Staged = dict) -> Staged:
    """`dataclasses.asdict`."""
    if not is_instance(obj):
        raise TypeError("asdict() should be called on dataclass instances")
    return opened(obj, dict_factory)


def astuple(obj: Staged, *, tuple_factory: Staged = tuple) -> Staged:
    """`dataclasses.astuple`."""
    if not is_instance(obj):
        raise TypeError("astuple() should be called on dataclass instances")
    return tuple_factory([row(getattr(obj, one.name), tuple_factory) for one in fields_of(obj)])


def replace(obj: Staged, /, **changes: Staged) -> Staged:
    """`dataclasses.replace`."""
    if not is_instance(obj):
        raise TypeError("replace() should be called on dataclass instances")
    for name, one in type(obj).__dataclass_fields__.items():
        kind = one._field_type  # as `dataclasses` itself tells them apart
        if kind is dataclasses._FIELD_CLASSVAR:  # type: ignore[attr-defined]
            continue
        if not one.init:
            if name in changes:
                raise ValueError(
                    f"field {name} is declared with init=False, "
                    "it cannot be specified with replace()"
                )
        elif name not in changes:
            if kind is dataclasses._FIELD_INITVAR and one.default is dataclasses.MISSING:  # type: ignore[attr-defined]
                raise ValueError(f"InitVar {name!r} must be specified with replace()")
            changes[name] = getattr(obj, name)
    return type(obj)(**changes)


def is_instance(obj: Staged) -> Staged:
    """Is `obj` an instance of a dataclass?"""
    return hasattr(type(obj), "__dataclass_fields__") and not isinstance(obj, type)


def fields_of(obj: Staged) -> Staged:
    """The fields of its class."""
    return dataclasses.fields(type(obj))


def opened(obj: Staged, make: Staged) -> Staged:
    """The fields of a dataclass, with what is in them."""
    return make([(one.name, inner(getattr(obj, one.name), make)) for one in fields_of(obj)])


def inner(value: Staged, make: Staged) -> Staged:
    """A value inside, as a dict where it is a dataclass."""
    if is_instance(value):
        return opened(value, make)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[inner(one, make) for one in value])
    if isinstance(value, list):
        return [inner(one, make) for one in value]
    if isinstance(value, tuple):
        return tuple([inner(one, make) for one in value])
    if isinstance(value, dict):
        return {inner(key, make): inner(one, make) for key, one in value.items()}
    return copied(value)


def row(value: Staged, make: Staged) -> Staged:
    """A value inside, as a tuple where it is a dataclass."""
    if is_instance(value):
        return make([row(getattr(value, one.name), make) for one in fields_of(value)])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[row(one, make) for one in value])
    if isinstance(value, list):
        return [row(one, make) for one in value]
    if isinstance(value, tuple):
        return tuple([row(one, make) for one in value])
    if isinstance(value, dict):
        return {row(key, make): row(one, make) for key, one in value.items()}
    return copied(value)


def copied(value: Staged) -> Staged:
    """`copy.deepcopy(value)` of what is no container."""
    if isinstance(value, ATOMS):
        return value
    if isinstance(value, torch.Tensor) and not value.requires_grad:
        return value.clone()
    return copy.deepcopy(value)
