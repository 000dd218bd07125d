"""What the user calls a value, a number or an object: looked up among the names of running code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import sympy
import torch

from stator.frames import converted_frames
from stator.program.ir import Value
from stator.values.symbolic import Number


def name_of_value(find: Callable[[torch.Tensor], Value | None], value: Value) -> str | None:
    """The variable, or the attribute of one, that holds the tensor which `find` says is `value`."""
    return _name_of(lambda held: isinstance(held, torch.Tensor) and find(held) is value)


def name_of_number(symbol: sympy.Symbol) -> str | None:
    """The variable that holds the number `symbol`."""
    return _name_of(lambda held: isinstance(held, Number) and held.node.expr == symbol)


def name_of_object(obj: object) -> str:
    """The variable, or the attribute of one, that holds `obj`; else what it is."""
    found = _name_of(lambda held: held is obj)
    return found if found is not None else f"a {type(obj).__name__.removeprefix('Staged').lower()}"


def _name_of(is_it: Callable[[object], bool]) -> str | None:
    return next((name for name, held in _held() if is_it(held)), None)


def _held() -> Iterator[tuple[str, object]]:
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
