"""Callees that were made from a Python function: static ones, and those of `torch.jit.script`."""

from __future__ import annotations

from stator.library.markers import original_function
from stator.torch_private.scripts import ScriptFunction, source_of
from stator.values.annotations import Staged


def python_function(function: object) -> Staged:
    """The Python function behind `function`; None if it is not such a callee."""
    if isinstance(function, ScriptFunction):
        return source_of(function)
    return original_function(function)
