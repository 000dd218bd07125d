"""held_objects(): the Python objects whose attributes can be state of a saved model.

A scheduler that a model has as an attribute, or a function in its closure: what calls change in it
is state as the attributes of modules are, and what they only read is part of the program.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import Any

import torch

DEPTH = 4  # of objects in attributes of objects
NEVER_HELD = (
    torch.nn.Module, torch.Tensor, type, types.ModuleType, types.FunctionType, types.MethodType,
    types.BuiltinFunctionType, dict, list, tuple, set, frozenset, str, BaseException,
)  # fmt: skip


def held_objects(roots: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The objects among `roots` and in the attributes of these, each once; outer ones first."""
    found: dict[int, tuple[str, Any]] = {}
    level = [(name, value) for name, value in roots if _is_held(value)]
    for _ in range(DEPTH):
        fresh = {id(value): (name, value) for name, value in reversed(level)}
        fresh = {key: fresh[key] for key in reversed(fresh) if key not in found}
        found |= fresh
        level = [
            (f"{name}.{key}", value)
            for name, obj in fresh.values()
            for key, value in vars(obj).items()
            if _is_held(value)
        ]
    return list(found.values())


def _is_held(value: Any) -> bool:
    own = getattr(type(value), "__dictoffset__", 0)
    return own != 0 and not isinstance(value, NEVER_HELD) and type(vars(value)) is dict


def outer_variables(function: Any) -> Iterator[tuple[str, Any]]:
    """The variables of enclosing functions that `function` has; those of modules are everyone's."""
    plain = getattr(function, "__func__", function)
    if not isinstance(plain, types.FunctionType):
        return
    for name, cell in zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True):
        if name != "__class__" and _is_filled(cell):
            yield name, cell.cell_contents


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018  # an empty one has none
    except ValueError:
        return False
    return True
