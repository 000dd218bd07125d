"""Ops whose schema has a plain float (a probability, a momentum), given a symbolic one.

Torch's argument parser would ask for the value. So the op is looked up by its schema and recorded
directly; an example float takes part only in finding out what the result looks like.
"""

from __future__ import annotations

import types

import torch

from stator.capture.recorder import Recorder
from stator.errors import DataDependent
from stator.frames import current_place
from stator.torch_private import ops
from stator.values.annotations import Keywords, Staged

EXAMPLE = 0.5  # valid as a probability, a momentum, a slope, a tolerance


def is_op_with_float(function: object, args: tuple[object, ...], kwargs: dict[str, object]) -> bool:
    """Is this an op of torch on tensors that is given a symbolic float?"""
    values = (getattr(function, "__self__", None), *args, *kwargs.values())
    return (
        isinstance(function, types.BuiltinFunctionType)
        and any(isinstance(value, torch.Tensor) for value in values)
        and any(isinstance(value, torch.SymFloat) for value in values)
    )


def record_with_floats(
    recorder: Recorder, function: Staged, args: tuple[object, ...], kwargs: dict[str, object]
) -> Staged:
    """What the op behind `function` gives, recorded with the symbolic floats it is given."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, torch.Tensor):
        args = (owner, *args)
    example_args = tuple(map(_example, args))
    example_kwargs = {name: _example(value) for name, value in kwargs.items()}
    op = ops.find_overload(function.__name__, example_args, example_kwargs)
    if op is None:
        raise DataDependent(
            f"`{function.__name__}` needs the value of a captured number",
            at=current_place(), fix="compute it with other ops",
        )  # fmt: skip
    return recorder.record_op(op, (args, kwargs), (example_args, example_kwargs))


def _example(value: object) -> Staged:
    return EXAMPLE if isinstance(value, torch.SymFloat) else value


def without_generator(function: object, kwargs: Keywords) -> Keywords:
    """`kwargs` without `generator=None`, beside which torch takes no dynamic size."""
    if (
        not isinstance(function, types.BuiltinFunctionType)
        or kwargs.get("generator", 0) is not None
    ):
        return kwargs
    return {name: value for name, value in kwargs.items() if name != "generator"}
