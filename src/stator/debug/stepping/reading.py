"""Reading: what a name holds, put together from the values of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from stator.debug.stepping.variables import UNBOUND, ComputedNumber, Variable
from stator.execute.observing import Seen
from stator.execute.structure import unflatten
from stator.program.ir import Value


def read_variables(
    variables: Mapping[str, Variable], values: Seen, classes: Mapping[str, type]
) -> dict[str, Any]:
    """The names that hold something there, and what they hold."""
    found = {}
    for name, variable in variables.items():
        leaves = [_leaf(leaf, values) for leaf in variable.leaves]
        if not any(leaf is _GONE for leaf in leaves):
            held = unflatten(variable.structure, leaves, classes=classes)
            if held is not UNBOUND:
                found[name] = held
    return found


_GONE = object()  # a value that the run does not have there


def _leaf(leaf: Value | ComputedNumber | None, values: Seen) -> Any:
    if isinstance(leaf, ComputedNumber):
        return _computed(leaf, values)
    return values.get(leaf, _GONE) if leaf is not None else None


def _computed(number: ComputedNumber, values: Seen) -> Any:
    known = {}
    for symbol, value, dimension in number.symbols:
        held = values.get(value, _GONE)
        if held is _GONE or held is None:
            return _GONE
        known[symbol] = held if dimension is None else held.shape[dimension]
    if isinstance(number.expression, sympy.Symbol):
        return known[number.expression]
    replaced = number.expression.xreplace(
        {symbol: sympy.sympify(int(one) if isinstance(one, bool) else one)
         for symbol, one in known.items()}
    )  # fmt: skip
    return {"bool": bool, "int": int, "float": float, "complex": complex}[number.kind](replaced)
