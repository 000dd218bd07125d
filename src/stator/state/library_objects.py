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
import inspect
import logging
import os
import pathlib
import re
import sys
import types
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy
import torch

from stator.english import with_article
from stator.errors import UnsupportedCall
from stator.recursion_limit import users_limit
from stator.state.session import Session, weak_reference
from stator.torch_private.modules import tables
from stator.values.annotations import Args, Keywords, Staged
from stator.values.containers import is_plain_object, own_attributes
from stator.values.contents import state_of
from stator.values.exceptions import add_note
from stator.values.slotted import slots_of
from stator.values.staged import StagedContainer, StagedList
from stator.values.symbolic import CapturedComplex, CapturedText, CaughtError
from stator.values.union import Union

UNCHANGING: tuple[type, ...] = (
    str, bytes, int, float, complex, tuple, frozenset, range, slice, type(None), type, enum.Enum,
    types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinFunctionType,
    types.MappingProxyType, functools.partial, re.Pattern, re.Match, pathlib.PurePath,
    datetime.datetime, datetime.date, datetime.timedelta, type({}.keys()), type({}.values()),
    type({}.items()), BaseException, property, super, contextlib.ContextDecorator,
    inspect.Signature, inspect.Parameter, types.MemberDescriptorType,
)  # fmt: skip
FOLLOWED = (
    torch.Tensor, torch.nn.Module, torch.SymInt, torch.SymFloat, torch.SymBool, numpy.ndarray,
    numpy.generic, Union, CapturedText, CapturedComplex, CaughtError,
)  # fmt: skip
OF_EVERY_OBJECT = frozenset(dir(object)) - {"__setattr__", "__delattr__", "__init__"}
READS_OF_A_MAPPING = frozenset({"get", "keys", "values", "items", "__getitem__", "__contains__"})
TELLS_OF_THE_PROCESS = frozenset({
    os.getenv, os.getcwd, os.getpid, os.cpu_count, users_limit, torch.get_num_threads,
    torch.get_num_interop_threads, torch.get_float32_matmul_precision,
})  # fmt: skip
LOGGER_SETTINGS = frozenset({
    "setLevel", "addHandler", "removeHandler", "addFilter", "removeFilter",
})  # fmt: skip
LOGGER_QUESTIONS = frozenset({"isEnabledFor", "getEffectiveLevel", "hasHandlers"})
LIBRARIES = ("torch", "numpy", "stator", "pybind11_builtins")
HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class that Python code has made


def refuse_unfollowed(session: Session, owner: object, name: str) -> None:
    """Raise where a method of `owner` may change it unseen: in a recorded block, or from outside.

    A program calls no method again: on an object of the caller's, only the capture would.
    """
    if name in OF_EVERY_OBJECT or isinstance(owner, (*UNCHANGING, *FOLLOWED)):
        return
    if isinstance(owner, logging.Logger) and name not in LOGGER_SETTINGS:
        return
    if isinstance(owner, Mapping) and name in READS_OF_A_MAPPING:
        return
    if type(owner).__module__.split(".")[0] in LIBRARIES:
        return
    if session.provenance.is_external(owner):
        raise UnsupportedCall(
            f"a method of {with_article(type(owner).__name__)} from outside is called, which "
            "would happen only during the capture, not in later calls",
            fix="call it outside, and pass its result",
        )  # fmt: skip
    if not session.recorder.depth or session.provenance.created_since(session.recorder.scope)(
        owner
    ):
        return
    raise UnsupportedCall(
        f"a method of {with_article(type(owner).__name__)} is called inside a branch or a loop "
        "of the program, "
        "which cannot follow what it changes",
        fix="make the object inside, or use a list, a dict or a tensor",
    )  # fmt: skip


def note_object(session: Session, obj: object) -> None:
    """Everything that setting an attribute of `obj` can change."""
    if isinstance(obj, torch.Tensor):
        raise UnsupportedCall(
            "an attribute of a tensor is set",
            fix="keep the value in a variable; to change the tensor, use `t.data.copy_(value)`",
        )
    if _keeps_attributes(obj):
        session.note(obj)
    else:
        raise UnsupportedCall(
            f"an attribute of {_named(obj)} is set, which Stator cannot track",
            fix="keep the value in a local variable or on an ordinary object",
        )
    if isinstance(obj, torch.nn.Module):
        for table in tables(obj):
            if session.provenance.is_external(obj):
                session.provenance.add_external(table)
            session.note(table)


def _keeps_attributes(obj: object) -> bool:
    """Are the attributes of `obj` kept by Python, and not by a class written in C?"""
    if isinstance(obj, type):
        return bool(obj.__flags__ & HEAP_TYPE) and obj.__module__.split(".")[0] not in LIBRARIES
    return hasattr(obj, "__dict__") or bool(slots_of(type(obj)))


def _named(obj: object) -> str:
    """What `obj` is, in words; its own `__repr__` is the user's code."""
    return (
        f"the class {obj.__name__}" if isinstance(obj, type) else with_article(type(obj).__name__)
    )


# ---- what the process holds


def watch_the_world(
    session: Session, function: object, args: tuple[object, ...], result: object
) -> None:
    """A function that tells the state of the process: asked again before every run."""
    is_known = isinstance(function, types.FunctionType | types.BuiltinFunctionType) and (
        function in TELLS_OF_THE_PROCESS
    )
    is_known |= _asks_logger(function)
    is_weak = isinstance(function, weakref.ReferenceType)
    if is_weak and result is not None and not session.provenance.is_external(result):
        raise weak_reference("weak reference")
    if is_known or is_weak:
        session.reads.watch_call(function, args, result)  # type: ignore[arg-type]


def _asks_logger(function: object) -> bool:
    """Does it tell which records a logger lets through?"""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    return isinstance(owner, logging.Logger) and name in LOGGER_QUESTIONS


def add_existing(session: Session, result: object, others: int) -> bool:
    """Has a call given an object that somebody else holds, and that the capture does not know?

    It is the caller's, then. `others` says how many references an object that the call has just
    made would have here.
    """
    is_new = sys.getrefcount(result) <= others or session.provenance.is_known_new(result)
    if is_new or not _is_followed(result):
        return False
    session.provenance.add_external(result)
    return True


def _is_followed(obj: object) -> bool:
    """Is it an object whose reads are guarded and whose changes are effects?"""
    if isinstance(obj, StagedContainer | torch.Tensor | torch.nn.Module):
        return False
    return isinstance(obj, list | dict | set | types.ModuleType) or is_plain_object(obj)


def watch_object(session: Session, obj: Any, seen: set[int]) -> None:
    """Library code is given `obj`, and may look at all that an object of the caller's has."""
    if type(obj) in (list, tuple, StagedList) and id(obj) not in seen:
        seen.add(id(obj))
        for item in list.__iter__(obj) if isinstance(obj, list) else obj:
            watch_object(session, item, seen)
    if id(obj) in seen or not (session.provenance.is_external(obj) and is_plain_object(obj)):
        return
    seen.add(id(obj))
    for name, value in own_attributes(obj).items():
        session.reads.read_attribute(obj, name, value)
        session.staged(value)
        watch_object(session, value, seen)


def call_on_the_object(
    session: Session,
    owner: object,
    name: str,
    method: Callable[..., Staged],
    args: Args,
    kwargs: Keywords,
) -> Staged:
    """A method that is called as it is, whatever it is given; what it changes is noted."""
    if isinstance(owner, contextvars.ContextVar) and name != "__setattr__":
        return _call_variable(session, owner, name, args)
    if name in ("__setattr__", "add_note"):
        note_object(session, owner)
    if name == "add_note" and isinstance(owner, BaseException):
        return add_note(owner, *args, **kwargs)
    return method(*args, **kwargs)


def _call_variable(
    session: Session, variable: contextvars.ContextVar[Any], name: str, args: tuple[Any, ...]
) -> Staged:
    """`get`, `set` or `reset` of a context variable; a capture has a context of its own."""
    if name == "get":
        value = variable.get(*args)
        if not session.journal.has_noted(variable):
            session.reads.watch_call(variable.get, args, value)
        return value
    if session.recorder.depth and not state_of(variable):
        raise UnsupportedCall(
            f"the context variable `{variable.name}`, which has no value, is set inside a branch "
            "or a loop of the program",
            fix="give it a default",
        )  # fmt: skip
    session.note(variable)
    return variable.set(*args) if name == "set" else _reset(variable, *args)


def _reset(variable: contextvars.ContextVar[Any], token: contextvars.Token[Any]) -> None:
    """`variable.reset(token)`, which Python allows once: a `finally` is recorded for each end."""
    old = token.old_value
    if old is contextvars.Token.MISSING:
        try:
            old = contextvars.Context().run(variable.get)  # its default
        except LookupError:
            variable.reset(token)
            return
    variable.set(old)
