"""Guards: what the captured run read from outside, and must find again for its program to hold."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from stator.capture.places import is_library_file

SCALARS = (bool, int, float, complex, str, bytes, type(None))
_MISSING = object()


class Guards:
    """Reads of globals, cells and attributes of objects that the caller owns."""

    def __init__(self) -> None:
        self._outside: dict[int, Any] = {}  # objects the caller owns, by id
        self._reads: dict[tuple[int, str, Any], tuple[Callable[[], Any], Any, str]] = {}

    def own(self, obj: Any) -> None:
        """`obj` was there before the capture."""
        if not isinstance(obj, SCALARS):
            self._outside[id(obj)] = obj

    def is_outside(self, obj: Any) -> bool:
        """Was `obj` there before the capture?"""
        return id(obj) in self._outside

    def read_attribute(self, obj: Any, name: str, value: Any) -> None:
        """`obj.name` was read and gave `value`."""
        if not self.is_outside(obj):
            return
        if isinstance(obj, torch.nn.Module) or _is_plain_attribute(obj, name):
            self._watch((id(obj), "attribute", name), lambda: getattr(obj, name, _MISSING), value,
                        f"{type(obj).__name__}.{name}")  # fmt: skip
            self.own(value)

    def read_item(self, obj: Any, key: Any, value: Any) -> None:
        """`obj[key]` was read and gave `value`."""
        if self.is_outside(obj) and isinstance(key, SCALARS):
            self._watch((id(obj), "item", key), lambda: _item(obj, key), value, f"[{key!r}]")
            self.own(value)

    def global_names(self, names: dict[str, Any]) -> None:
        """The globals of a module are the caller's."""
        self._outside[id(names)] = names

    def watch(self, obj: Any, key: Any, read: Callable[[], Any], value: Any, what: str) -> None:
        """`read()`, about an object of the caller's, gave `value`."""
        if self.is_outside(obj):
            self._watch((id(obj), *key), read, value, what)

    def read_contents(self, obj: Any) -> None:
        """A list, dict or set of the caller's was looked at as a whole."""
        if isinstance(obj, torch.nn.Module):
            self.own(obj._modules)
            obj = obj._modules
        self.watch(obj, ("contents",), lambda: contents(obj), contents(obj), "a list or dict")

    def read_global(self, names: dict[str, Any], name: str) -> None:
        """The global `name` of a module with these globals is read."""
        if isinstance(names.get(name), types.ModuleType):
            if not _is_library(names[name]):
                self.own(names[name])
        elif name in names:
            self._watch((id(names), "global", name), lambda: names.get(name, _MISSING),
                        names[name], f"global {name}")  # fmt: skip
            self.own(names[name])

    def read_cell(self, cell: types.CellType, name: str) -> None:
        """The variable `name` of an enclosing function, kept in `cell`, is read."""
        value = _contents(cell)
        if value is not _MISSING:
            self._watch(
                (id(cell), "cell", name), lambda: _contents(cell), value, f"variable {name}"
            )
            self.own(value)

    def _watch(self, key: Any, read: Callable[[], Any], value: Any, what: str) -> None:
        self._reads.setdefault(key, (read, value, what))

    def changed(self) -> str | None:
        """What is no longer as the capture found it, in words; None when everything is."""
        for read, expected, what in self._reads.values():
            if not _unchanged(read(), expected):
                return what
        return None


@dataclass(frozen=True)
class Contents:
    """What a container holds: the very objects, in order."""

    items: tuple[Any, ...]


def contents(obj: Any) -> Contents:
    """The items of a list, the keys and values of a dict, the members of a set."""
    if isinstance(obj, dict):
        return Contents((*obj, *obj.values()))
    return Contents(tuple(sorted(obj, key=repr)) if isinstance(obj, set) else tuple(obj))


def _is_library(module: types.ModuleType) -> bool:
    if module.__name__.partition(".")[0] in sys.stdlib_module_names:
        return True
    file = getattr(module, "__file__", None)
    return file is not None and is_library_file(file)


def _unchanged(now: Any, expected: Any) -> bool:
    if now is expected:
        return True
    if isinstance(expected, Contents):
        return len(now.items) == len(expected.items) and all(
            map(_unchanged, now.items, expected.items)
        )
    if isinstance(expected, float | complex):
        return type(now) is type(expected) and repr(now) == repr(expected)  # 0.0 is not -0.0
    if isinstance(expected, SCALARS):
        return type(now) is type(expected) and bool(now == expected)
    return isinstance(expected, types.MethodType) and now == expected


def _is_plain_attribute(obj: Any, name: str) -> bool:
    """Stored on the object or its class, not made by a descriptor."""
    if name in getattr(obj, "__dict__", ()):
        return True
    for cls in type(obj).__mro__:
        if name in vars(cls):
            return not hasattr(type(vars(cls)[name]), "__get__")
    return False


def _item(obj: Any, key: Any) -> Any:
    try:
        return obj[key]
    except (KeyError, IndexError, TypeError):
        return _MISSING


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING
