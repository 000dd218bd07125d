"""Arithmetic on Python numbers in a graph of torch.fx.

Sizes and constants are computed with as Python does it. A number that is taken from a tensor is a
tensor without dimensions: int64, float64 or bool.

NOTE: how errors are kept. Inside a branch or a loop torch's control flow has no way to raise an
error. Where Python would (a division by zero) or a 64-bit integer would overflow, the result is
divided, as an integer, by whether all is well: a division by zero, which torch reports.

NOTE: why sizes are compared as tensors. torch.export answers a question about a size by the example
that it traces with, and the program that it gives does not ask again.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

import torch

from stator.program.ir import Arg, Op, Value

ATEN = torch.ops.aten
DTYPES: Mapping[str, torch.dtype] = MappingProxyType(
    {"int": torch.int64, "float": torch.float64, "bool": torch.bool}
)
PLAIN: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "add": operator.add, "sub": operator.sub, "mul": operator.mul,
        "floordiv": operator.floordiv, "mod": operator.mod, "neg": operator.neg,
        "min": torch.sym_min, "max": torch.sym_max,
    }
)  # fmt: skip
COMPARISONS: Mapping[str, Any] = MappingProxyType(
    {"eq": ATEN.eq.Tensor, "ne": ATEN.ne.Tensor, "lt": ATEN.lt.Tensor, "le": ATEN.le.Tensor,
     "gt": ATEN.gt.Tensor, "ge": ATEN.ge.Tensor}
)  # fmt: skip
LOGICAL: Mapping[str, Any] = MappingProxyType(
    {"and": ATEN.logical_and.default, "or": ATEN.logical_or.default}
)
ARITHMETIC: Mapping[str, Any] = MappingProxyType(
    {"add": ATEN.add.Tensor, "sub": ATEN.sub.Tensor, "mul": ATEN.mul.Tensor,
     "min": ATEN.minimum.default, "max": ATEN.maximum.default}
)  # fmt: skip
LIMIT = 2.0**62  # in doubles, well inside 64 bits


class NumberGraph(Protocol):
    """The graph that is being built, as far as numbers need it."""

    def call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """The result of one more node."""

    def bind(self, value: Value, node: Any, *, is_tensor: bool = False) -> None:
        """`node` computes `value`."""

    def refuse(self, op: Op | None, problem: str) -> Any:
        """ExportError at an op."""

    def is_tensor(self, arg: Arg) -> bool:
        """Whether `arg` is a tensor in the graph."""

    def kind(self, arg: Arg) -> str:
        """Which number `arg` is."""

    def node(self, arg: Arg) -> Any:
        """`arg` as a function of Python takes it."""

    def tensor(self, arg: Arg, kind: str) -> Any:
        """A number as a tensor."""


def lower_number(to: NumberGraph, op: Op) -> None:
    """An op on numbers."""
    name = op.name.removeprefix("stator::")
    if name in PLAIN and not any(to.is_tensor(arg) for arg in op.args):
        to.bind(op.results[0], to.call(PLAIN[name], *(to.node(arg) for arg in op.args)))
        return
    if name in COMPARISONS:
        kind = "float" if "float" in (to.kind(arg) for arg in op.args) else "int"
        if any(to.kind(arg) == "float" for arg in op.args) and any(
            to.kind(arg) == "int" and to.is_tensor(arg) for arg in op.args
        ):
            to.refuse(op, "an int and a float, both known to a run only, are compared")
        found = to.call(COMPARISONS[name], *(to.tensor(arg, kind) for arg in op.args))
    elif name in LOGICAL:
        found = to.call(LOGICAL[name], *(to.tensor(arg, "bool") for arg in op.args))
    elif name in RULES:
        found = RULES[name](to, op)
    else:
        found = to.refuse(op, f"{op.name} on numbers has no counterpart in torch.export")
    to.bind(op.results[0], found, is_tensor=True)


def guarded(to: NumberGraph, found: Any, holds: Any, kind: str) -> Any:
    """`found`, and an error if `holds` is false."""
    zero = to.call(ATEN.scalar_tensor.default, 0, dtype=torch.int64)
    divisor = to.call(ATEN.to.dtype, holds, torch.int64)
    checked = to.call(ATEN.div.Tensor_mode, zero, divisor, rounding_mode="floor")
    return to.call(ATEN.add.Tensor, found, to.call(ATEN.to.dtype, checked, DTYPES[kind]))


def _result(to: NumberGraph, op: Op) -> str:
    kinds = [to.kind(arg) for arg in op.args]
    return "float" if "float" in kinds else "int"


def _arithmetic(to: NumberGraph, op: Op) -> Any:
    kind, name = _result(to, op), op.name.removeprefix("stator::")
    args = [to.tensor(arg, kind) for arg in op.args]
    found = to.call(ARITHMETIC[name], *args)
    if kind == "float" or name in ("min", "max"):
        return found
    wide = [to.call(ATEN.to.dtype, arg, torch.float64) for arg in args]
    size = to.call(ATEN.abs.default, to.call(ARITHMETIC[name], *wide))
    return guarded(to, found, to.call(ATEN.lt.Scalar, size, LIMIT), kind)


def _divided(to: NumberGraph, op: Op) -> Any:
    kind, name = _result(to, op), op.name.removeprefix("stator::")
    if name == "truediv":
        kind = "float"
    one, other = (to.tensor(arg, kind) for arg in op.args)
    if name == "truediv":
        found = to.call(ATEN.div.Tensor, one, other)
    elif name == "mod":
        found = to.call(ATEN.remainder.Tensor, one, other)
    else:
        found = to.call(ATEN.div.Tensor_mode, one, other, rounding_mode="floor")
    if kind == "int":
        return found  # torch reports a division by zero
    return guarded(to, found, to.call(ATEN.ne.Scalar, other, 0), kind)


def _one_operand(function: Any) -> Callable[[NumberGraph, Op], Any]:
    def lower(to: NumberGraph, op: Op) -> Any:
        return to.call(function, to.tensor(op.args[0], _result(to, op)))

    return lower


def _truth(to: NumberGraph, op: Op) -> Any:
    return to.tensor(op.args[0], "bool")


def _negation(to: NumberGraph, op: Op) -> Any:
    return to.call(ATEN.logical_not.default, to.tensor(op.args[0], "bool"))


def _as_float(to: NumberGraph, op: Op) -> Any:
    return to.tensor(op.args[0], "float")


def _select(to: NumberGraph, op: Op) -> Any:
    kind = getattr(op.results[0].type, "kind", "int")
    index, items = op.args
    assert isinstance(items, tuple)
    place, found = to.tensor(index, "int"), to.tensor(items[-1], kind)
    for number, item in reversed(list(enumerate(items[:-1]))):
        is_here = to.call(ATEN.eq.Scalar, place, number)
        found = to.call(ATEN.where.self, is_here, to.tensor(item, kind), found)
    return found


RULES: Mapping[str, Callable[[NumberGraph, Op], Any]] = MappingProxyType(
    {
        **dict.fromkeys(("add", "sub", "mul", "min", "max"), _arithmetic),
        **dict.fromkeys(("truediv", "floordiv", "mod"), _divided),
        "neg": _one_operand(ATEN.neg.default),
        "abs": _one_operand(ATEN.abs.default),
        "bool": _truth,
        "not": _negation,
        "float": _as_float,
        "select": _select,
    }
)
