"""Pickling of static functions: by name where they have one; captures are left out."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable
from typing import Any, TypeVar

from stator.library.markers import original_function

Static = TypeVar("Static")
Options = dict[str, Any]


def reduced(
    static: Any, cls: Callable[..., Any], function: Any, input_spec: Any, options: Options
) -> str | tuple[Any, ...]:
    """What `__reduce__` of `static`, a `cls` made from `function`, gives."""
    if isinstance(function, types.MethodType):
        name, owner = function.__name__, function.__self__
        found = inspect.getattr_static(type(owner), name, None)
        if _original(found) is function.__func__:
            return restored_method, (cls, owner, name, input_spec, options)
    elif _named(static.__module__, static.__qualname__) is static:
        qualname: str = static.__qualname__
        return qualname
    return restored, (cls, function, input_spec, options)


def restored(
    cls: Callable[..., Static], function: Any, input_spec: Any, options: Options
) -> Static:
    """A static function from its pickled parts; it captures again."""
    return cls(function, input_spec, **options)


def restored_method(
    cls: Callable[..., Static], owner: Any, name: str, input_spec: Any, options: Options
) -> Static:
    """A static method; `owner` may still be empty, so only its class is read."""
    function = _original(inspect.getattr_static(type(owner), name))
    return cls(types.MethodType(function, owner), input_spec, **options)


def _original(function: Any) -> Any:
    found = original_function(function)
    return function if found is None else found


def _named(module: str, qualname: str) -> Any:
    """What has that name in that module, which is imported."""
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    return found
