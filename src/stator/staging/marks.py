"""Marks on functions: left alone by the user, or static already."""

from __future__ import annotations

from typing import Any

LEFT_ALONE = "__stator_left_alone__"
ORIGINAL = "__stator_original__"
_ignored_modules: set[str] = set()


def leave_alone(function: Any) -> Any:
    """Mark `function`: it is called as it is."""
    setattr(function, LEFT_ALONE, True)
    return function


def ignore_modules(names: list[str]) -> None:
    """Functions of these Python modules are called as they are."""
    _ignored_modules.update(names)


def is_left_alone(function: Any) -> bool:
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


def original_function(function: Any) -> Any:
    """What a StaticFunction was made from; None for anything else."""
    return getattr(function, ORIGINAL) if hasattr(type(function), ORIGINAL) else None
