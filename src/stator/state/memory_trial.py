"""MemoryTrial: every kind of change is made once and seen, before a check by memory is used."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator

import torch

from stator.state.memory import Watched, has_known_layouts, memory_check
from stator.torch_private.checks import count_dispatch_modes, count_function_modes

Change = Callable[[], object]


def can_check_by_memory() -> bool:
    """Does a check by memory see everything here? What is no at first may be yes later."""
    if count_function_modes() or count_dispatch_modes():
        return False  # modes of the user's would see the trial
    return has_known_layouts() and _sees_every_change()


@functools.cache
def _sees_every_change() -> bool:
    with torch.inference_mode(mode=False), torch.enable_grad():
        trials = (*_of_dicts(), *_of_objects(), *_of_functions(), *_of_tensors())
        return all(_is_seen(watched, change) for watched, change in trials)


def _is_seen(watched: Watched, change: Change) -> bool:
    """Is the first word on it "unchanged", twice, and "changed" after it?"""
    check = memory_check(watched)
    if check is None or not (check() and check()):
        return False
    change()
    return not check()


def _of_dicts() -> Iterator[tuple[Watched, Change]]:
    for one in ({}, {"a": 1}):
        yield Watched(dicts=[one]), functools.partial(one.update, a=2)
    one = {"a": 1}
    yield Watched(dicts=[one]), one.clear
    holder = types.SimpleNamespace(a=1)
    yield Watched(dicts=[vars(holder)]), functools.partial(setattr, holder, "a", 2)


class _One:
    pass


class _Other:
    pass


def _of_objects() -> Iterator[tuple[Watched, Change]]:
    one = _One()
    yield Watched(owners=[one]), functools.partial(setattr, one, "__class__", _Other)
    parameter = torch.nn.Parameter(_zeros(2))
    yield (
        Watched(tensors=[parameter]),
        functools.partial(setattr, parameter, "__class__", _OtherParameter),
    )


class _OtherParameter(torch.nn.Parameter):
    pass


def _of_functions() -> Iterator[tuple[Watched, Change]]:
    def one(a: int, *, b: int) -> int:
        return a + b

    def other(a: int, *, b: int) -> int:
        return a - b

    function = types.FunctionType(one.__code__, {}, argdefs=(1,))
    parts = {"__code__": other.__code__, "__defaults__": (3,), "__kwdefaults__": {"b": 5}}
    for name, value in (*parts.items(), ("__defaults__", None)):
        yield Watched(functions=[function]), functools.partial(setattr, function, name, value)


def _of_tensors() -> Iterator[tuple[Watched, Change]]:
    changes: tuple[Callable[[torch.Tensor], object], ...] = (
        lambda tensor: _give(tensor, _zeros(4, 3).double()),
        lambda tensor: _give(tensor, _zeros(4, 3).half()),
        lambda tensor: _give(tensor, _zeros(4, 5)),
        lambda tensor: _give(tensor, _zeros(4)),
        lambda tensor: _give(tensor, _zeros(4, 3, 1)),
        lambda tensor: _give(tensor, _zeros(3, 4).t()),
        lambda tensor: _give(tensor, _zeros(8, 3)[::2]),
        lambda tensor: tensor.requires_grad_(not tensor.requires_grad),
        lambda tensor: torch.utils.swap_tensors(tensor, _zeros(4, 3)),
    )
    for change in changes:
        for tensor in (_zeros(4, 3), _zeros(4, 3).requires_grad_(), _once_required()):
            yield Watched(tensors=[tensor]), functools.partial(change, tensor)
    for tensor in (_zeros(4, 3), _once_required()):
        term = _zeros(4, 3).requires_grad_()
        yield Watched(tensors=[tensor]), functools.partial(tensor.add_, term)
        yield Watched(tensors=[tensor]), tensor.detach_


def _zeros(*sizes: int) -> torch.Tensor:
    return torch.zeros(sizes, dtype=torch.float32, device="cpu")


def _once_required() -> torch.Tensor:
    """One whose AutogradMeta is there, and says no."""
    return _zeros(4, 3).requires_grad_().requires_grad_(False)


def _give(tensor: torch.Tensor, data: torch.Tensor) -> None:
    tensor.data = data
