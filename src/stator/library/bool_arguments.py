"""Symbolic bools among the arguments of library code: one call for each of their two values."""

from __future__ import annotations

from collections.abc import Callable

import torch

from stator.capture.branches import capture_if
from stator.capture.recorder import Recorder
from stator.values.annotations import Args, Keywords, Staged

Call = Callable[[Staged, Args, Keywords], Staged]


def split_bool(
    recorder: Recorder, call: Call, function: Staged, args: Args, kwargs: Keywords
) -> tuple[Staged] | None:
    """What `call(function, args, kwargs)` gives, in a tuple; None where no argument is a bool."""
    at = next((k for k, arg in enumerate(args) if isinstance(arg, torch.SymBool)), None)
    if at is not None:
        before, after = args[:at], args[at + 1 :]
        return (
            _either(recorder, args[at], lambda b: call(function, (*before, b, *after), kwargs)),
        )
    name = next((key for key, arg in kwargs.items() if isinstance(arg, torch.SymBool)), None)
    if name is None:
        return None
    return (_either(recorder, kwargs[name], lambda b: call(function, args, {**kwargs, name: b})),)


def _either(
    recorder: Recorder, condition: torch.SymBool, function: Callable[[bool], object]
) -> Staged:
    return capture_if(recorder, condition, lambda: function(True), lambda: function(False))
