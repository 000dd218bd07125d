"""Sizes as sympy expressions."""

from __future__ import annotations

import sympy
import torch
from torch._guards import SLoc
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv
from torch.utils._sympy import functions
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.value_ranges import ValueRanges

__all__ = [
    "GuardOnDataDependentSymNode",
    "SLoc",
    "ShapeEnv",
    "evaluate",
    "functions",
    "mark_as_size",
    "sympy_interp",
    "truth_of",
]


def evaluate(env: ShapeEnv, expression: sympy.Basic) -> sympy.Basic | None:
    """`expression` as a constant where what `env` knows leaves no doubt; else None."""
    found: sympy.Basic | None = env._maybe_evaluate_static(expression)
    return found


def mark_as_size(env: ShapeEnv, symbol: sympy.Symbol) -> None:
    """`symbol` is a size: never negative."""
    env._constrain_range_for_size(symbol)


def truth_of(env: ShapeEnv, number: torch.SymInt) -> torch.SymBool:
    """Whether a new `number`, which is 0 or 1 from here on, is 1.

    torch's own `create_unbacked_symbool` gives the same, but has sympy try to decide it first,
    which takes most of its time.
    """
    symbol = number.node.expr
    env.var_to_range[symbol] = ValueRanges(0, 1)
    return torch.SymBool(SymNode(sympy.Eq(symbol, 1, evaluate=False), env, bool, None))
