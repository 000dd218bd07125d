"""enable_to_static, not_to_static, ignore_module: what is left as it is."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

from stator.debug.eager import Switch
from stator.staging.marks import ignore_modules, leave_alone


def enable_to_static(enabled: bool) -> None:
    """Turn conversion on or off everywhere: off, static functions run as they were written."""
    Switch.on = bool(enabled)


def is_enabled() -> bool:
    """Is conversion on?"""
    return Switch.on


def not_to_static(function: Any = None) -> Any:
    """Leave `function` as it is when converted code calls it: its ops are recorded, Python runs.

    >>> @not_to_static
    ... def helper(x):
    ...     return x + 1
    >>> helper(1)
    2
    """
    return not_to_static if function is None else leave_alone(function)


def ignore_module(modules: Iterable[types.ModuleType]) -> None:
    """Leave every function of these Python modules as it is."""
    ignore_modules([module.__name__ for module in modules])
