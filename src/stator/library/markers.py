"""Marks on functions: left alone by the user, called by each run, or static already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stator.values.annotations import Staged

LEFT_ALONE = "__stator_left_alone__"
ORIGINAL = "__stator_original__"
HOST_CALL = "__stator_host_call__"
_ignored_modules: set[str] = set()


def leave_alone(function: object) -> Staged:
    """Mark `function`: it is called as it is."""
    setattr(function, LEFT_ALONE, True)
    return function


def ignore_modules(names: list[str]) -> None:
    """Functions of these Python modules are called as they are."""
    _ignored_modules.update(names)


def is_left_alone(function: object) -> bool:
    """Is `function` marked, or one of an ignored module?"""
    plain = getattr(function, "__func__", function)
    if getattr(plain, "__dict__", {}).get(LEFT_ALONE, False):
        return True
    module = getattr(plain, "__module__", None)
    return (
        bool(_ignored_modules)
        and isinstance(module, str)
        and any(module == name or module.startswith(name + ".") for name in _ignored_modules)
    )


def original_function(function: object) -> Staged:
    """What a StaticFunction was made from; None for anything else."""
    return getattr(function, ORIGINAL) if hasattr(type(function), ORIGINAL) else None


@dataclass(frozen=True)
class HostMark:
    """A function that each run of a program calls in Python; `result` is the type that it gives."""

    result: type | None


def mark_host_call(function: Any, result: type | None) -> Any:
    """Mark `function`: each run calls it."""
    setattr(function, HOST_CALL, HostMark(result))
    return function


def host_mark(function: Any) -> HostMark | None:
    """The mark of a function that each run calls; None for any other."""
    plain = getattr(function, "__func__", function)
    found = getattr(plain, "__dict__", {}).get(HOST_CALL)
    return found if isinstance(found, HostMark) else None
