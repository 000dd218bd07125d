"""Functions of TorchScript, and the Python functions they were made from."""

from __future__ import annotations

import types
from typing import Any

import torch

ScriptFunction: Any = torch.jit.ScriptFunction


def source_of(function: Any) -> types.FunctionType | None:
    """The Python function that `torch.jit.script` was given; None if it is not known."""
    found = getattr(function, "_torchdynamo_inline", None)
    return found if isinstance(found, types.FunctionType) else None
