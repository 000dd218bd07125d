"""Ops of torch as simpler ones, traced on tensors without data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import decomposition_table
from torch._subclasses.fake_tensor import FakeTensorMode
from torch._subclasses.functional_tensor import FunctionalTensorMode, dispatch_functionalize
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from stator.torch_private.ops import OpOverload

__all__ = ["new_shapes", "new_size", "new_tensors", "traced"]


def new_shapes() -> ShapeEnv:
    """Where sizes that only a run knows come from: any of them may be 0 or 1."""
    return ShapeEnv()


def new_size(shapes: ShapeEnv) -> torch.SymInt:
    """A size about which nothing is known."""
    found = shapes.create_unbacked_symint()
    torch._check(found >= 0)
    return found


def new_tensors(shapes: ShapeEnv) -> FakeTensorMode:
    """A mode whose tensors have no data."""
    return FakeTensorMode(shape_env=shapes, allow_non_fake_inputs=True)


def traced(
    function: Callable[[list[Any]], Any],
    inputs: list[Any],
    stays: Callable[[OpOverload], bool],
    *,
    functional: bool = False,
) -> torch.fx.GraphModule:
    """The ops that `function` runs on `inputs`, without data; those that `stays` holds for whole.

    Others are decomposed as far as torch knows how. If `functional`, none writes to a tensor: but
    then ops that torch composes of others are not whole.
    """
    table = {
        op: how
        for op, how in decomposition_table.items()
        if isinstance(op, torch._ops.OpOverload) and not stays(op)
    }
    if functional:
        function = dispatch_functionalize(function, FunctionalTensorMode())
    return make_fx(function, decomposition_table=table)(inputs)
