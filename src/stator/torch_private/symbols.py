"""Sizes as sympy expressions."""

from __future__ import annotations

import sympy
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv
from torch.utils._sympy import functions
from torch.utils._sympy.interp import sympy_interp

__all__ = [
    "GuardOnDataDependentSymNode",
    "ShapeEnv",
    "evaluate",
    "functions",
    "mark_as_size",
    "sympy_interp",
]


def evaluate(env: ShapeEnv, expression: sympy.Basic) -> sympy.Basic | None:
    """`expression` as a constant where what `env` knows leaves no doubt; else None."""
    found: sympy.Basic | None = env._maybe_evaluate_static(expression)
    return found


def mark_as_size(env: ShapeEnv, symbol: sympy.Symbol) -> None:
    """`symbol` is a size: never negative."""
    env._constrain_range_for_size(symbol)
