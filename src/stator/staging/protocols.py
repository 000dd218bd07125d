"""Methods behind Python's own syntax (`a[k]`, `len`, `==`, `with`) that users write."""

from __future__ import annotations

import linecache
import types
from typing import Any

from stator.capture.places import is_library_file


def user_method(obj: Any, name: str) -> types.FunctionType | None:
    """The method `name` of the class of `obj`, if a user wrote it in Python."""
    for cls in type(obj).__mro__:
        if name in vars(cls):
            return _users(vars(cls)[name])
    return None


def user_property(obj: Any, name: str) -> types.FunctionType | None:
    """The function behind the property `name` of `obj`, if a user wrote it."""
    for cls in type(obj).__mro__:
        if name in vars(cls):
            found = vars(cls)[name]
            return _users(found.fget) if isinstance(found, property) else None
    return None


def _users(function: Any) -> types.FunctionType | None:
    """`function` if it is user code; methods that `dataclass` and others generate have no text."""
    if not isinstance(function, types.FunctionType):
        return None
    file = function.__code__.co_filename
    if is_library_file(file) or (file.startswith("<") and not linecache.getlines(file)):
        return None
    return function
