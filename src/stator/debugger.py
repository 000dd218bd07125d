"""Pdb: the standard debugger, which does not stop in Stator while it captures.

Converted code is in the user's file, but between two of its lines the recorder is at work, and
a loop's body is a function of its own. `Pdb` goes from line to line of the user's, and its stack
has the user's functions alone, each once.
"""

from __future__ import annotations

import bdb
import contextlib
import os
import pdb
import re
import sys
import types
from collections.abc import Iterator
from typing import Any

import torch

from stator.frames import is_between, is_converted, is_hidden, is_same_function, is_users

# what the recorder goes through; a debugger that is not ours knows modules by name alone
SKIPPED = (
    "stator", "stator.*", "torch", "torch.*", "sympy*", "mpmath*", "numpy*", "logging*", "enum",
    "inspect", "importlib*", "_frozen_importlib*", "contextlib", "functools", "collections*",
    "dataclasses", "weakref", "typing*", "ast", "copy", "linecache", "threading", "warnings", "re*",
    "abc", "traceback", "textwrap", "tokenize", "types", "operator", "random", "string", "codecs",
)  # fmt: skip
NUMBERS = {torch.SymInt: "int", torch.SymFloat: "float", torch.SymBool: "bool"}
_STATE = re.compile(r"(read|write)_\d+__")  # pieces that carry names in and out, and have no line


class Pdb(pdb.Pdb):
    """A `pdb.Pdb` that hides the frames of Stator during a capture; works in any code."""

    def stop_here(self, frame: types.FrameType) -> bool:
        """Whether a line of `frame` is one to stop at: not one that the recorder goes through."""
        if _STATE.fullmatch(frame.f_code.co_name) or is_of_the_recorder(frame):
            return False
        if frame.f_globals.get("__name__") == "weakref":  # a tensor was freed: no caller
            return False
        return super().stop_here(frame) or (self._is_next() and self._is_in_stopframe(frame))

    def _msg_val_func(self, arg: str, func: Any) -> None:
        """`p` and `pp`: a captured number is shown as such, not by torch's name for it."""

        def shown(value: object) -> str:
            kind = NUMBERS.get(type(value))
            text: str = func(value) if kind is None else f"<captured {kind}>"
            return text

        super()._msg_val_func(arg, shown)  # type: ignore[misc]

    def _is_next(self) -> bool:
        """Was the last command `next`?"""
        return self.stopframe is not None and self.stoplineno == 0

    def _is_in_stopframe(self, frame: types.FrameType) -> bool:
        """Is `frame` a piece of the function that is to stop next?"""
        outer = function_around(frame)
        while outer is not None and outer is not self.stopframe:
            outer = function_around(outer)
        return outer is not None

    def dispatch_return(self, frame: types.FrameType, arg: Any) -> Any:
        """After the last line of a piece, `next` goes on in the function around it."""
        outer = function_around(frame)
        if outer is not None and frame is self.stopframe and self._is_next():
            self.set_next(outer)
            return self.trace_dispatch
        return super().dispatch_return(frame, arg)

    def set_return(self, frame: types.FrameType) -> None:
        """Stop where the whole function returns, not a piece of it."""
        outer: types.FrameType | None = frame
        while outer is not None:
            frame, outer = outer, function_around(outer)
        super().set_return(frame)

    def user_call(self, frame: types.FrameType, argument_list: None) -> None:
        """A piece of a function is not called by the user: its first line comes next."""
        if not is_piece(frame):
            super().user_call(frame, argument_list)

    def user_return(self, frame: types.FrameType, return_value: Any) -> None:
        """A piece of a function does not return: its function goes on."""
        if not is_piece(frame):
            super().user_return(frame, return_value)

    def get_stack(
        self, f: types.FrameType | None, t: types.TracebackType | None
    ) -> tuple[list[tuple[types.FrameType, int]], int]:
        """The user's frames; of a function in pieces, the innermost, which has all its names."""
        stack, at = super().get_stack(f, t)
        shown = users_stack(stack)
        current = stack[at][0] if stack else None
        frames = [frame for frame, _ in shown]
        return shown, frames.index(current) if current in frames else max(0, len(shown) - 1)


def users_stack(
    stack: list[tuple[types.FrameType, int]],
) -> list[tuple[types.FrameType, int]]:
    """`stack` without Stator's frames, and torch's between, each function once."""
    shown: list[tuple[types.FrameType, int]] = []
    hidden = False
    for frame, line in stack:
        hidden = is_hidden(frame.f_code) or (hidden and is_between(frame.f_code))
        if hidden:
            continue
        if shown and is_same_function(frame, within=shown[-1][0]):
            shown.pop()
        shown.append((frame, line))
    return shown


def is_of_the_recorder(frame: types.FrameType) -> bool:
    """Is `frame` Stator's or torch's inner code, or a library's that these have called?"""
    outer: types.FrameType | None = frame
    while outer is not None and not (is_users(outer) and outer.f_code.co_filename != "<string>"):
        if is_hidden(outer.f_code):
            return True
        outer = outer.f_back
    return False


def is_piece(frame: types.FrameType) -> bool:
    """Does `frame` run a piece that the rewrite has made of a function?"""
    return function_around(frame) is not None


def function_around(frame: types.FrameType) -> types.FrameType | None:
    """The frame of the function, or the piece, that `frame` runs a piece of; None of any other."""
    outer = frame.f_back if is_converted(frame) else None
    while outer is not None and not is_converted(outer):
        outer = outer.f_back
    return outer if outer is not None and is_same_function(frame, within=outer) else None


def set_trace() -> None:
    """Stop at the next line of the caller, in a debugger for captured code.

    For all of a program: `PYTHONBREAKPOINT=stator.debug.set_trace`.
    """
    Pdb().set_trace(sys._getframe(1))


def for_converted_code(function: Any) -> Any:
    """What converted code calls where the user has written `function`: a debugger's entry.

    Only the standard debugger is replaced; one that the user has chosen stays.
    """
    if function is breakpoint:
        is_standard = sys.breakpointhook is sys.__breakpointhook__
        return set_trace if is_standard and not os.environ.get("PYTHONBREAKPOINT") else function
    return set_trace if function is pdb.set_trace else function


@contextlib.contextmanager
def stepping_around() -> Iterator[None]:
    """Inside, a debugger that is already running steps over Stator's own lines."""
    running = getattr(sys.gettrace(), "__self__", None)
    if not isinstance(running, bdb.Bdb):
        yield
        return
    before = running.skip
    running.skip = {*(before or ()), *SKIPPED}
    try:
        yield
    finally:
        running.skip = before
