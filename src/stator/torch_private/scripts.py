"""Functions and modules of TorchScript, the Python functions they were made from, its marks."""

from __future__ import annotations

import types
from typing import Any

import torch

ScriptFunction: Any = torch.jit.ScriptFunction
ScriptModule: Any = torch.jit.ScriptModule
ScriptMethod: Any = torch._C.ScriptMethod
EXPORT: Any = torch._jit_internal.FunctionModifiers.EXPORT


def source_of(function: Any) -> types.FunctionType | None:
    """The Python function that `torch.jit.script` was given; None if it is not known."""
    found = getattr(function, "_torchdynamo_inline", None)
    return found if isinstance(found, types.FunctionType) else None


def is_exported(function: Any) -> bool:
    """Is it marked with `torch.jit.export`?"""
    return getattr(function, "_torchscript_modifier", None) is EXPORT
