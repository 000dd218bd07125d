"""Entry: the short way into a program, for calls like one that came before.

A call is like an earlier one when its arguments are tensors of the same kinds and nothing else has
changed. The checks are torch's own (`state.native_checks`), made once for each kind of call; a
call that they do not know takes the long way, by its signature.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from stator.api.concrete import ConcreteProgram
from stator.state.native_checks import modes_check, tensors_check
from stator.torch_private.checks import count_function_modes

MISS = object()
Entry = Callable[[tuple[Any, ...], dict[str, Any]], Any]


def entry_for(
    concrete: ConcreteProgram, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Entry | None:
    """The entry for calls like this one, which `concrete` serves; None if it is no simple one."""
    tensors_only = args and not kwargs and all(isinstance(arg, torch.Tensor) for arg in args)
    if not tensors_only or count_function_modes() or _has_one_twice(args):
        return None
    has_any_size = any(None in shape for shape in concrete.sizes)
    if has_any_size and not all(arg.is_contiguous() for arg in args):
        return None
    return _entry(concrete, args, has_any_size)


def _has_one_twice(args: tuple[Any, ...]) -> bool:
    return len(set(map(id, args))) < len(args)


def _entry(concrete: ConcreteProgram, args: tuple[torch.Tensor, ...], has_any_size: bool) -> Entry:
    count, modes_hold, fit = len(args), modes_check(), tensors_check(args, concrete.sizes)
    run, guards = concrete.pick, concrete.captured.guards

    def enter(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the program gives for this call; MISS if it may be another kind of call."""
        if (
            kwargs
            or len(args) != count
            or not fit(*args)
            or (count > 1 and _has_one_twice(args))
            or not modes_hold()
            or count_function_modes()
            or (has_any_size and not all(arg.is_contiguous() for arg in args))
            or not (guards.is_current() or guards.hold())
        ):
            return MISS
        return concrete(args, (args, kwargs)) if run is None else run(args)

    return enter
