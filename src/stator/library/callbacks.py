"""Library functions that call what users give them: these are converted, not run as they are.

A decorated function (`@torch.no_grad()`, `@torch.autocast(...)`, a `@contextmanager` used as one)
is such a function: the wrapper is the library's, what it calls is the user's.
"""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import functools
import heapq
import os
import statistics
import types
from typing import Any

import torch
import torch.distributions
import torch.utils.checkpoint

from stator.containers import counter_definitions, standard_definitions
from stator.library import (
    control_flow_definitions,
    dataclass_definitions,
    statistics_definitions,
    torch_definitions,
)
from stator.library.user_methods import ORDERING, is_over_containers
from stator.torch_private import control_flow
from stator.torch_private.distributions import validate_sample
from stator.torch_private.modules import apply_of_module
from stator.values.annotations import Staged

CALL_BACK = frozenset(
    {
        "context_decorator.<locals>.decorate_context",
        "autocast_decorator.<locals>.decorate_autocast",
        "ContextDecorator.__call__.<locals>.inner",
        "functional_call",
        *(
            f"Module.{name}"
            for name in ("to", "cpu", "type", "float", "double", "half", "bfloat16")
        ),
        "_functional_call",
        "checkpoint_sequential",
        "checkpoint_sequential.<locals>.run_function",
        "checkpoint_sequential.<locals>.run_function.<locals>.forward",
    }
)

# Functions of torch whose Python cannot be converted as it is, rewritten.
WRITTEN_OUT: dict[Any, Any] = {
    torch.utils.checkpoint.checkpoint: torch_definitions.checkpoint,
    torch.nn.Module.requires_grad_: torch_definitions.requires_grad_of_module,
    apply_of_module: torch_definitions.apply_to_module,
    torch.nn.utils.rnn.pad_packed_sequence: torch_definitions.pad_packed_sequence,
    torch.distributions.Distribution.__init__: torch_definitions.distribution_init,
    validate_sample: torch_definitions.validate_sample,
    control_flow.cond: control_flow_definitions.cond,
    control_flow.while_loop: control_flow_definitions.while_loop,
    control_flow.map_rows: control_flow_definitions.map_rows,
    control_flow.scan: control_flow_definitions.scan,
    dataclasses.asdict: dataclass_definitions.asdict,
    dataclasses.astuple: dataclass_definitions.astuple,
    dataclasses.replace: dataclass_definitions.replace,
    heapq.nlargest: standard_definitions.nlargest,
    collections.Counter.most_common: counter_definitions.most_common,
    collections.Counter.elements: counter_definitions.elements,
    collections.Counter.subtract: counter_definitions.subtract,
    collections.Counter.total: counter_definitions.total,
    collections.Counter.update: counter_definitions.update,
    collections.abc.Sequence.__iter__: standard_definitions.items_of_sequence,
    heapq.nsmallest: standard_definitions.nsmallest,
}
REPLACED: dict[Any, Any] = WRITTEN_OUT | {  # these only where they are given captured values
    statistics.mean: statistics_definitions.mean,
    statistics.variance: statistics_definitions.variance,
    statistics.pvariance: statistics_definitions.pvariance,
}
TORCH = os.path.dirname(torch.__file__) + os.sep
COMPILER = (os.path.join(TORCH, "_compile.py"), os.path.join(TORCH, "_dynamo") + os.sep)
TRANSFORMS = tuple(
    os.path.join(TORCH, "_functorch", file) for file in ("apis.py", "eager_transforms.py")
)


def calls_back(function: types.FunctionType) -> bool:
    """Does this library function call code that a user has written?"""
    name = function.__code__.co_qualname
    if function in WRITTEN_OUT or name in CALL_BACK or name.startswith(ORDERING):
        return True
    return is_over_containers(function)


def undecorated(function: Staged) -> Staged:
    """What torch has marked for its own compiler, without the mark; anything else as it is."""
    if isinstance(function, types.MethodType):  # it has the attributes of its function
        plain = undecorated(function.__func__)
        return (
            function if plain is function.__func__ else types.MethodType(plain, function.__self__)
        )
    code = getattr(function, "__code__", None)
    if not isinstance(code, types.CodeType) or function in WRITTEN_OUT:
        return function
    is_marked = code.co_filename.startswith(COMPILER)
    return getattr(function, "__wrapped__", function) if is_marked else function


def is_transform(function: object) -> bool:
    """Is this `torch.func.grad`, `vmap` and the like, or a function that they have made?"""
    code = getattr(function, "__code__", None)
    return isinstance(code, types.CodeType) and code.co_filename in TRANSFORMS


def made_by(function: Staged) -> type | None:
    """The class that a call of `function` makes an object of: itself, or `type.__call__` of it."""
    if isinstance(function, functools.partial) and function.func is type.__call__:
        function = function.args[0]
    return function if isinstance(function, type) else None


def python_of(function: Staged) -> tuple[types.FunctionType, tuple[object, ...]] | None:
    """The Python function of torch behind a callable, and what it is given first; else None."""
    first: tuple[Any, ...] = ()
    if isinstance(function, torch.nn.Module):
        function = function.forward
    made: Any = made_by(function)
    if made is not None:
        function = made.__init__ if made.__new__ is object.__new__ else None
    if isinstance(function, types.MethodType):
        function, first = function.__func__, (function.__self__,)
    if not isinstance(function, types.FunctionType):
        return None
    return (function, first) if function.__code__.co_filename.startswith(TORCH) else None
