"""Methods behind Python's own syntax (`a[k]`, `len`, `==`, `with`) that users write."""

from __future__ import annotations

import functools
import inspect
import linecache
import types
from collections.abc import Iterable

from stator.frames import is_library_file
from stator.values.annotations import Staged
from stator.values.attributes import class_entry, own_dict

CLASSES = (  # the modules of this package whose methods are converted
    "stator.containers.machine_definitions", "stator.library.progress_definitions",
    "stator.library.statistics_definitions",
)  # fmt: skip
# classes of `collections` and `collections.abc` that are plain Python over other containers
IN_PYTHON = (
    "ChainMap.", "UserDict.", "UserList.", "Mapping.", "MutableMapping.", "Sequence.",
    "MutableSequence.", "Set.", "MutableSet.", "MappingView.", "KeysView.", "ItemsView.",
    "ValuesView.",
)  # fmt: skip
ORDERING = ("_gt_from_", "_ge_from_", "_lt_from_", "_le_from_")  # of `functools.total_ordering`


def user_method(obj: object, name: str) -> types.FunctionType | None:
    """The method `name` of the class of `obj`, if a user wrote it in Python."""
    return _users(class_entry(type(obj), name))


def user_property(obj: object, name: str) -> Staged:
    """The function behind the property or descriptor `name` of `obj`, if a user wrote it.

    That of a descriptor is a method, whose object is the descriptor.
    """
    found = class_entry(type(obj), name)
    if isinstance(found, property):
        return _users(found.fget)
    getter = user_method(found, "__get__")
    if getter is None or (name in own_dict(obj) and not _is_data(found)):
        return None
    return types.MethodType(getter, found)


def computes(obj: object, name: str) -> bool:
    """Does code of the user's say what `obj.name` is, or that there is none?"""
    found = class_entry(type(obj), name)
    if isinstance(found, functools.cached_property) and name not in own_dict(obj):
        return True
    if user_property(obj, name) is not None or user_method(obj, "__getattribute__") is not None:
        return True
    return user_method(obj, "__getattr__") is not None and not has_plainly(obj, name)


def is_computed_if_absent(obj: object, name: str) -> bool:
    """Is `obj.name` computed by a function where `obj` itself has none?"""
    found = class_entry(type(obj), name)
    if isinstance(found, functools.cached_property):
        return True
    if user_method(found, "__get__") is not None:
        return not _is_data(found)
    return found is None and user_method(obj, "__getattr__") is not None


def has_plainly(obj: object, name: str) -> bool:
    """Is there an attribute `name`, without asking `__getattr__`?"""
    try:
        object.__getattribute__(obj, name)
    except AttributeError:
        return False
    return True


def _is_data(descriptor: object) -> bool:
    return hasattr(type(descriptor), "__set__") or hasattr(type(descriptor), "__delete__")


def user_setter(obj: object, name: str) -> Staged:
    """The setter of a property, or the `__set__` of a descriptor, if a user wrote it."""
    found = class_entry(type(obj), name)
    return _users(found.fset) if isinstance(found, property) else _of_descriptor(found, "__set__")


def user_deleter(obj: object, name: str) -> Staged:
    """The deleter of a property, or the `__delete__` of a descriptor, if a user wrote it."""
    found = class_entry(type(obj), name)
    return (
        _users(found.fdel) if isinstance(found, property) else _of_descriptor(found, "__delete__")
    )


def _of_descriptor(descriptor: object, name: str) -> types.MethodType | None:
    method = user_method(descriptor, name)
    return None if method is None else types.MethodType(method, descriptor)


def are_asked(classes: Iterable[object]) -> bool:
    """Has one of them a metaclass of the user's, which says what its instances are?"""
    names = ("__instancecheck__", "__subclasscheck__", "__subclasshook__")
    return any(user_method(one, name) is not None for one in classes for name in names)


def has_python_call(function: object) -> bool:
    """Is `function` an object whose `__call__` is written in Python?"""
    call = inspect.getattr_static(type(function), "__call__", None)
    return isinstance(call, types.FunctionType)


def is_over_containers(function: types.FunctionType) -> bool:
    """Is it a method of Python's own that only calls those of other containers?"""
    is_known = function.__globals__.get("__name__") in ("collections", "collections.abc")
    return is_known and function.__code__.co_qualname.startswith(IN_PYTHON)


def is_users(function: object) -> bool:
    """Is it a function that a user wrote in Python, and whose text there is?"""
    return _users(function) is not None


def _users(function: object) -> types.FunctionType | None:
    """`function` if it is user code; methods that `dataclass` and others generate have no text."""
    if not isinstance(function, types.FunctionType):
        return None
    file = function.__code__.co_filename
    if function.__module__ in CLASSES:
        return function
    if function.__module__ == "functools" and function.__qualname__.startswith(ORDERING):
        return function  # it asks the method that the user wrote
    if is_over_containers(function):
        return function
    if is_library_file(file) or (file.startswith("<") and not linecache.getlines(file)):
        return None
    return function
