"""Dataclasses: what `@dataclass` generates, done by staging where a user's code is part of it."""

from __future__ import annotations

import dataclasses
import inspect
import types
from typing import Any

from stator.library.user_methods import user_method
from stator.state.session import Session
from stator.values.annotations import Args, Keywords, Staged
from stator.values.pooled import can_be_pooled
from stator.values.slotted import set_attributes


def makes_dataclass(cls: Staged) -> bool:
    """Is `cls` a dataclass with a generated `__init__`, whose objects are plain ones?"""
    init = vars(cls).get("__init__") if dataclasses.is_dataclass(cls) else None
    return (
        isinstance(init, types.FunctionType)
        and init.__code__.co_filename.startswith("<")
        and cls.__new__ is object.__new__
        and (_post_init(cls) is not None or can_be_pooled(cls))
        and not any(map(_is_only_for_init, cls.__dataclass_fields__.values()))
    )


def _is_only_for_init(field: dataclasses.Field[object]) -> bool:
    """Is it an `InitVar`, also where annotations are strings?"""
    return isinstance(field.type, dataclasses.InitVar) or "InitVar" in str(field.type)


def _post_init(cls: Staged) -> Staged:
    return user_method(object.__new__(cls), "__post_init__")


def new_dataclass(session: Session, cls: Staged, args: Args, kwargs: Keywords) -> Staged:
    """`cls(*args, **kwargs)`, with `__post_init__` converted."""
    try:
        given = inspect.signature(cls).bind(*args, **kwargs).arguments
    except TypeError:
        return cls(*args, **kwargs)  # which raises, in Python's words
    new = object.__new__(cls)
    session.provenance.add_created(new)
    for field in dataclasses.fields(cls):
        if field.name in given:
            set_attributes(new, [(field.name, given[field.name])])
        elif field.default_factory is not dataclasses.MISSING:
            set_attributes(new, [(field.name, session.interpreter.call(field.default_factory))])
        elif field.default is not dataclasses.MISSING:
            set_attributes(new, [(field.name, field.default)])
    if _post_init(cls) is not None:
        session.interpreter.call_method(_post_init(cls), new)
    return new


def compared_fields(left: object, right: object, sign: str) -> tuple[object, object] | None:
    """What a generated `__eq__` or `__lt__` compares; None where it is not a generated one."""
    if left.__class__ is not right.__class__ or not dataclasses.is_dataclass(left):
        return None
    options: Any = left.__dataclass_params__  # type: ignore[union-attr]
    equal = sign in ("==", "!=")
    if not (options.eq if equal else options.order) or (equal and user_method(left, "__eq__")):
        return None
    names = [field.name for field in dataclasses.fields(left) if field.compare]
    return tuple(tuple(getattr(one, name) for name in names) for one in (left, right))  # type: ignore[return-value]
