"""enable_to_static, not_to_static, ignore_module, host_call: what is left as it is."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterable
from typing import Any

from stator.debug.eager import Switch
from stator.errors import ConversionError
from stator.library.markers import ignore_modules, leave_alone, mark_host_call


def enable_to_static(enabled: bool) -> None:
    """Turn conversion on or off globally; if `enabled` is false, static functions run eagerly."""
    Switch.on = bool(enabled)


def is_enabled() -> bool:
    """Is conversion on?"""
    return Switch.on


def not_to_static(function: Any = None) -> Any:
    """Do not convert `function`: its tensor ops are recorded, its Python runs during the capture.

    Use it for code that Stator cannot convert and that takes the same path in every call. It also
    works as a decorator with empty parentheses.

    >>> @not_to_static
    ... def helper(x):
    ...     return x + 1
    >>> helper(1)
    2
    """
    return not_to_static if function is None else leave_alone(function)


def host_call(function: Any = None, *, result: type | None = None) -> Any:
    """Make every run of a program call `function` in Python, with the values of that run.

    The capture itself does not call it. `result` is the type that `function` returns: `bool`,
    `int`, `float` or `str`; without it the program receives None. A saved model cannot call Python:
    `save` omits host calls without a result and refuses those whose result is used.

    >>> @host_call
    ... def report(step, loss):
    ...     print(f"step {step}: {loss}")
    >>> report(1, 0.5)
    step 1: 0.5
    """
    if result not in (None, bool, int, float, str):
        raise ConversionError(
            f"a host call cannot return a {getattr(result, '__name__', result)}",
            fix="use bool, int, float, str, or None for no result",
        )
    if function is None:
        return functools.partial(host_call, result=result)
    return mark_host_call(function, result)


def ignore_module(modules: Iterable[types.ModuleType]) -> None:
    """Do not convert the functions of these Python modules and their submodules.

    For example: `stator.ignore_module([tracker])`, after `import tracker`.
    """
    ignore_modules([module.__name__ for module in modules])
