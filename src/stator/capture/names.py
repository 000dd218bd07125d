"""What the user calls a value, a number or an object: looked up among the names of running code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import sympy
import torch

from stator.capture.numbers import Number
from stator.frames import converted_frames
from stator.program.ir import Value

if TYPE_CHECKING:  # the recorder names sizes with this module
    from stator.capture.recorder import Recorder


def name_of_value(recorder: Recorder, value: Value) -> str | None:
    """The variable, or the attribute of one, that holds the tensor which is `value`."""
    return _name_of(lambda held: isinstance(held, torch.Tensor) and recorder.find(held) is value)


def name_of_number(symbol: sympy.Symbol) -> str | None:
    """The variable that holds the number `symbol`."""
    return _name_of(lambda held: isinstance(held, Number) and held.node.expr == symbol)


def name_of_object(obj: Any) -> str:
    """The variable, or the attribute of one, that holds `obj`; else what it is."""
    found = _name_of(lambda held: held is obj)
    return found if found is not None else f"a {type(obj).__name__.removeprefix('Staged').lower()}"


def _name_of(is_it: Callable[[Any], bool]) -> str | None:
    return next((name for name, held in _held() if is_it(held)), None)


def _held() -> Iterator[tuple[str, Any]]:
    """The variables of the functions that run, the innermost first, then their attributes."""
    frames = list(converted_frames(sys._getframe(1), None))
    known = [
        (name, held)
        for frame in frames
        for name, held in list(frame.f_locals.items())
        if not name.endswith("__") and not name.startswith(".")
    ]
    yield from known
    for name, held in known:
        if not isinstance(held, torch.Tensor):
            for key, item in list(getattr(held, "__dict__", {}).items()):
                yield f"{name}.{key}", item
