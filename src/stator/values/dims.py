"""dim_of(): a sympy expression of sizes, as torch makes them -> the program's data.

NOTE: torch's FloorDiv and PythonMod round like Python's `//` and `%`; its CleanDiv and Mod are
promises that the arguments need no rounding or have no sign, so the same ops serve. ToFloat is left
out: between ints and floats, sizes are computed as Python computes.

"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType

import sympy
import torch

from stator.program.sizes import AnySize, Dim, SizeArg, SizeExpr, SizeOp, Symbol
from stator.torch_private.symbols import functions

MAX_DEPTH = 40  # what is nested more deeply is some size

OPS: Mapping[type, SizeOp] = MappingProxyType(
    {
        functions.FloorDiv: "floordiv",
        functions.CleanDiv: "floordiv",
        functions.PythonMod: "mod",
        functions.Mod: "mod",
        sympy.Mod: "mod",
        functions.PowByNatural: "pow",
        sympy.Pow: "pow",
        functions.Min: "min",
        sympy.Min: "min",
        functions.Max: "max",
        sympy.Max: "max",
        functions.IntTrueDiv: "truediv",
        functions.FloatTrueDiv: "truediv",
        functions.FloorToInt: "floor",
        sympy.floor: "floor",
        functions.CeilToInt: "ceil",
        sympy.ceiling: "ceil",
        functions.TruncToInt: "trunc",
        functions.RoundToInt: "round",
    }
)
SAME = (functions.ToFloat, functions.Identity)


def expression_of(size: int | torch.SymInt) -> sympy.Expr:
    """One size of a tensor, as torch computes with it."""
    return size.node.expr if isinstance(size, torch.SymInt) else sympy.Integer(size)


def size_of(size: int | torch.SymInt) -> Dim:
    """One size of a tensor, as data."""
    return dim_of(size.node.expr) if isinstance(size, torch.SymInt) else int(size)


@functools.lru_cache(maxsize=4096)
def dim_of(expression: sympy.Expr) -> Dim:
    """`expression` as data; AnySize where the program has no op for a part of it."""
    found = _convert(expression, 0)
    return AnySize() if found is None or isinstance(found, float) else found


def _convert(part: sympy.Basic, depth: int) -> SizeArg | None:
    if isinstance(part, sympy.Integer):
        return int(part)
    if isinstance(part, sympy.Float):
        return float(part)
    if isinstance(part, sympy.Symbol):
        return Symbol(part.name)
    if isinstance(part, SAME):
        return _convert(part.args[0], depth)
    if depth >= MAX_DEPTH:
        return None
    if isinstance(part, sympy.Add):
        return _expression("add", part.as_ordered_terms(), depth)
    if isinstance(part, sympy.Mul):
        return _expression("mul", part.as_ordered_factors(), depth)
    if isinstance(part, sympy.Abs):
        return _expression("max", (part.args[0], -part.args[0]), depth)
    op = OPS.get(type(part))
    return _expression(op, part.args, depth) if op is not None else None


def _expression(
    op: SizeOp, parts: list[sympy.Basic] | tuple[sympy.Basic, ...], depth: int
) -> SizeArg | None:
    args = [arg for part in parts if (arg := _convert(part, depth + 1)) is not None]
    if len(args) < len(parts) or (op == "pow" and _is_fraction(args[1])):
        return None
    return SizeExpr(op, tuple(args))


def _is_fraction(exponent: SizeArg) -> bool:
    """A power that is no natural number: `n ** -1`, `n ** 0.5`."""
    return isinstance(exponent, float) or (isinstance(exponent, int) and exponent < 0)
