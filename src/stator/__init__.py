"""Stator: eager PyTorch with ordinary Python control flow, as a static program.

import stator

@stator.to_static
def f(x):
    while x.sum() < 100:
        x = x * 2
    return x

NOTE: why the names come by `__getattr__`. Most of them need torch, whose import takes seconds; the
command `stator` has answers that need none of it (`--help`, `check`, `doctor` where torch is
missing). The first use of any name brings all of them, so the package is then what it looks like.
"""

import importlib
import random
from typing import TYPE_CHECKING, Any

from stator.requirements import check_installed_torch

if TYPE_CHECKING:
    from stator import debug, errors, static, testing
    from stator.public import (
        ConcreteProgram,
        Example,
        InputSpec,
        Program,
        StaticFunction,
        StatorError,
        TracedLayer,
        TranslatedLayer,
        compiled,
        enable_to_static,
        explain,
        host_call,
        ignore_module,
        load,
        not_to_static,
        save,
        set_code_level,
        set_verbosity,
        to_exported_program,
        to_static,
        verify,
    )

__version__ = "0.2.0"

__all__ = [
    "ConcreteProgram",
    "Example",
    "InputSpec",
    "Program",
    "StaticFunction",
    "StatorError",
    "TracedLayer",
    "TranslatedLayer",
    "compiled",
    "debug",
    "enable_to_static",
    "errors",
    "explain",
    "host_call",
    "ignore_module",
    "load",
    "not_to_static",
    "save",
    "set_code_level",
    "set_verbosity",
    "static",
    "testing",
    "to_exported_program",
    "to_static",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    check_installed_torch()
    drawn = random.getstate()  # rich draws a number when it is imported
    public = importlib.import_module("stator.public")
    random.setstate(drawn)
    globals().update({each: getattr(public, each) for each in __all__})
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
