"""Callees made from a Python function (static ones, `torch.jit.script`), and those refused."""

from __future__ import annotations

import types

import torch

from stator.errors import UnsupportedCall
from stator.library.markers import original_function
from stator.torch_private.scripts import ScriptFunction, ScriptMethod, ScriptModule, source_of
from stator.values.annotations import Args, Keywords, Staged

TRAINING = ("zero_grad", "step")
ORIGINAL = "use the Python module or function that `torch.jit.script` was given"


def python_function(function: object) -> Staged:
    """The Python function behind `function`; None if it is not such a callee."""
    if isinstance(function, ScriptFunction):
        return source_of(function)
    return original_function(function)


def is_refused(function: object) -> bool:
    """Is it one of these?"""
    if isinstance(function, types.MethodType):
        owner, name = function.__self__, function.__name__
        return name in TRAINING and isinstance(owner, torch.optim.Optimizer)
    return isinstance(function, ScriptModule | ScriptMethod)


def refuse_callee(function: Staged, _args: Args, _kwargs: Keywords) -> Staged:
    """UnsupportedCall, with the way out."""
    if isinstance(function, types.MethodType):
        raise UnsupportedCall(
            f"`{function.__name__}` of an optimizer is called: a program holds the computation, "
            "not the training step",
            fix="make the model or the loss function static, and keep `zero_grad`, `backward` and "
                "`step` in the loop that calls it",
        )  # fmt: skip
    raise UnsupportedCall(f"{scripted_name(function)} was made by `torch.jit.script`, and its "
                          "Python source is not known",
                          fix=ORIGINAL)  # fmt: skip


def scripted_name(function: Staged) -> str:
    """What the user knows a scripted module or method by."""
    name = getattr(function, "original_name", None) or getattr(function, "name", "a method")
    return f"`{name}`"
