"""Margins: how far a condition is from turning.

    x.sum() < 3      the margin is 3 - x.sum(): positive where it holds
    (x > 0).any()    the largest margin of the elements
    not c            minus the margin of c

A margin is worked out beside the op that makes the condition, and handed on by the ops between it
and the branch. It is a tensor where the compared things are, so that it can have a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch

from stator.program.ir import Arg, Op, Value

Margin = torch.Tensor
PASSED_ON = frozenset({
    "is_nonzero", "item", "_local_scalar_dense", "bool", "int", "clone", "detach", "alias", "view",
    "reshape", "squeeze", "unsqueeze", "to", "_to_copy",
})  # fmt: skip


class Margins:
    """The margins of the conditions that a run has made so far."""

    def __init__(self) -> None:
        self.known: dict[Value, Margin] = {}

    def of(self, arg: Arg) -> Margin | None:
        """The margin of a condition, if it is known."""
        return self.known.get(arg) if isinstance(arg, Value) else None

    def after(self, op: Op, values: Mapping[Value, Any], results: Sequence[Any]) -> None:
        """Learn what `op`, which has run, says about its result."""
        if op.blocks or len(op.results) != 1:
            return
        rule = RULES.get(_base(op.name))
        if rule is None:
            return
        self.known.pop(op.results[0], None)
        given = [values[arg] if isinstance(arg, Value) else arg for arg in op.args]
        found = rule(given, [self.of(arg) for arg in op.args])
        if found is not None and (not results or _fits(found, results[0])):
            self.known[op.results[0]] = found

    def joined(self, op: Op, yielded: Sequence[Arg], results: Sequence[Any]) -> None:
        """Learn what the side that an `if` has taken says about its results."""
        condition = self.of(op.args[0])
        for result, arg, value in zip(op.results, yielded, results, strict=True):
            found = self.of(arg)
            if found is None and isinstance(value, bool) and condition is not None:
                found = condition.abs().amax() if value else -condition.abs().amax()
            self.known.pop(result, None)
            if found is not None:
                self.known[result] = found


def _fits(margin: Margin, result: Any) -> bool:
    return not isinstance(result, torch.Tensor) or margin.shape == result.shape


def _base(name: str) -> str:
    """`aten::lt.Scalar` and `stator::lt` -> `lt`."""
    return name.partition("::")[2].partition(".")[0]


def _tensor(value: Any) -> torch.Tensor | None:
    if isinstance(value, torch.Tensor):
        if value.is_complex() or value.layout != torch.strided:
            return None
        return value if value.is_floating_point() else value.to(torch.float64)
    if isinstance(value, bool | int | float):
        return torch.tensor(float(value), dtype=torch.float64)
    return None


Arguments = list[Any]
Known = list[Margin | None]
Rule = Callable[[Arguments, Known], Margin | None]


def _ordered(sign: int) -> Rule:
    """A > b (1), a < b (-1)."""

    def rule(given: Arguments, _: Known) -> Margin | None:
        first, second = map(_tensor, given[:2])
        return None if first is None or second is None else sign * (first - second)

    return rule


def _equal(sign: int) -> Rule:
    """A == b (1), a != b (-1); of a condition and a truth value, what that says."""

    def rule(given: Arguments, known: Known) -> Margin | None:
        if known[0] is not None and _is_truth(given[0]) and isinstance(given[1], bool | int):
            return known[0] * (sign if given[1] else -sign)
        first, second = map(_tensor, given[:2])
        return None if first is None or second is None else -sign * (first - second).abs()

    return rule


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool) or (
        isinstance(value, torch.Tensor) and value.dtype == torch.bool
    )


def _negated(_: Arguments, known: Known) -> Margin | None:
    return None if known[0] is None else -known[0]


def _passed_on(given: Arguments, known: Known) -> Margin | None:
    margin, value = known[0], given[0]
    if margin is None:
        return _of_number(value)
    if isinstance(value, torch.Tensor) and margin.numel() != 1:
        return None
    return margin.reshape(())


def _of_number(value: Any) -> Margin | None:
    """A number that is asked for its truth: how far it is from 0."""
    found = _tensor(value)
    return found.abs().reshape(()) if found is not None and found.numel() == 1 else None


def _any(given: Arguments, known: Known) -> Margin | None:
    margin = _elements(given, known)
    return margin.amax() if margin is not None else None


def _all(given: Arguments, known: Known) -> Margin | None:
    margin = _elements(given, known)
    return margin.amin() if margin is not None else None


def _elements(given: Arguments, known: Known) -> Margin | None:
    if known[0] is None and isinstance(given[0], torch.Tensor) and given[0].dtype == torch.bool:
        known = [given[0].to(torch.float64) * 2 - 1]
    return known[0] if known[0] is not None and known[0].numel() else None


def _both(_: Arguments, known: Known) -> Margin | None:
    first, second = known[:2]
    return first if second is None else second if first is None else torch.minimum(first, second)


def _either(_: Arguments, known: Known) -> Margin | None:
    first, second = known[:2]
    return first if second is None else second if first is None else torch.maximum(first, second)


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "gt": _ordered(1), "ge": _ordered(1), "lt": _ordered(-1), "le": _ordered(-1),
        "eq": _equal(1), "ne": _equal(-1),
        "not": _negated, "logical_not": _negated, "bitwise_not": _negated,
        "any": _any, "all": _all,
        "and": _both, "logical_and": _both, "bitwise_and": _both, "__and__": _both,
        "or": _either, "logical_or": _either, "bitwise_or": _either, "__or__": _either,
        **dict.fromkeys(PASSED_ON, _passed_on),
    }
)  # fmt: skip
