"""Library functions that call what users give them: these are converted, not run as they are.

A decorated function (`@torch.no_grad()`, `@torch.autocast(...)`, `@contextmanager` in use as one) is
such a function: the wrapper is the library's, what it calls is the user's.
"""

from __future__ import annotations

import types

import torch
import torch.utils.checkpoint

from stator.staging import definitions

CALL_BACK = frozenset(
    {
        "context_decorator.<locals>.decorate_context",
        "autocast_decorator.<locals>.decorate_autocast",
        "ContextDecorator.__call__.<locals>.inner",
        "functional_call",
        "_functional_call",
        "checkpoint_sequential",
        "checkpoint_sequential.<locals>.run_function",
        "checkpoint_sequential.<locals>.run_function.<locals>.forward",
    }
)

WRITTEN_OUT = {torch.utils.checkpoint.checkpoint: definitions.checkpoint}


def calls_back(function: types.FunctionType) -> bool:
    """Does this library function call code that a user has written?"""
    return function.__code__.co_qualname in CALL_BACK
