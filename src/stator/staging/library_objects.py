"""Objects of libraries with a state of their own: a recorded block cannot follow what they change.

Both sides of a recorded branch run while capturing, so a write to such an object would be seen on
the other side too. A method of one is called in a recorded block only if nothing can come of it.
"""

from __future__ import annotations

import contextlib
import contextvars
import datetime
import enum
import functools
import logging
import pathlib
import re
import types
from collections.abc import Mapping
from typing import Any

import numpy
import torch

from stator.capture.places import current_place
from stator.capture.values import CapturedComplex, CapturedText, CaughtError, Variant
from stator.errors import UnsupportedCall
from stator.staging.session import Session

UNCHANGING: tuple[type, ...] = (
    str, bytes, int, float, complex, tuple, frozenset, range, slice, type(None), type, enum.Enum,
    types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinFunctionType,
    types.MappingProxyType, functools.partial, re.Pattern, re.Match, pathlib.PurePath,
    datetime.datetime, datetime.date, datetime.timedelta, type({}.keys()), type({}.values()),
    type({}.items()), BaseException, property, super,
)  # fmt: skip
FOLLOWED = (
    torch.Tensor, torch.nn.Module, torch.SymInt, torch.SymFloat, torch.SymBool, numpy.ndarray,
    numpy.generic, Variant, CapturedText, CapturedComplex, CaughtError,
)  # fmt: skip
READS_OF_A_MAPPING = frozenset({"get", "keys", "values", "items", "__getitem__", "__contains__"})
LIBRARIES = ("torch", "numpy", "stator")


def refuse_unfollowed(session: Session, owner: Any, name: str) -> None:
    """Raise where a method of `owner`, called in a recorded block, may change it unseen."""
    if isinstance(owner, (*UNCHANGING, *FOLLOWED, logging.Logger)):
        return
    if isinstance(owner, Mapping) and name in READS_OF_A_MAPPING:
        return
    if type(owner).__module__.split(".")[0] in LIBRARIES:
        return
    if session.recorder.made_in(session.recorder.scope)(owner):
        return
    raise UnsupportedCall(
        f"a method of a {type(owner).__name__} is called inside a branch or a loop of the program, "
        "which cannot follow what it changes",
        at=current_place(), fix="make the object inside, or use a list, a dict or a tensor",
    )  # fmt: skip


def reset_variable(variable: contextvars.ContextVar[Any], token: contextvars.Token[Any]) -> None:
    """`variable.reset(token)`, which Python allows once: a `finally` is recorded for each end."""
    old = token.old_value
    if old is not contextvars.Token.MISSING:
        variable.set(old)
        return
    with contextlib.suppress(RuntimeError):
        variable.reset(token)
