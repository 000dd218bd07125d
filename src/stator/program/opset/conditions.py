"""Conditions on the arguments of an op that torch leaves to the caller.

    numel(weight) == size(input, 1)

A call that breaks one of them would read or write memory that is not its own, or end the process.
Every run checks them before the call, here and in the C++ runtime, which has this table too.
A condition about an argument that an overload does not have, or that is None, holds.

    numel(t), dim(t), size(t, d)    of a tensor; `d` is a number or an argument, -1 if t has no such
    side(t, d)                      the same as size; nothing if d is negative
    value(n), total(n, ...)         of a number, of several
    given(a, ...)                   how many of these are neither None nor False
    least(t), most(t), sum(t)       of the elements of a tensor, or of a list of numbers
    least_sum(t), most_sum(t)       of its sums along the last dimension
    least_step(t)                   of the differences along the last dimension
    least_of(t, n), most_of(t, n)   of the first n[i] elements of each row; of all in one dimension
    repeated(n, t, d)               the sum of n, which is for each element of t along d; or for all
    infinite(t)                     1 if an element is infinite or NaN, else 0
    lowest(t, ...)                  1 if an element is the lowest integer of its dtype, else 0
    overflows(a, b, mode)           1 if a / b has a quotient that integers do not have, else 0
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

QUANTITY = re.compile(r"(?P<measure>\w+)\((?P<arguments>[\w, -]*)\)|(?P<number>-?\d+)")
RELATION = re.compile(r" (==|<=|>=|<|>) ")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number that is measured on the arguments of a call; `number` is one that is fixed."""

    measure: str
    arguments: tuple[str, ...]  # their names, or numbers


@dataclass(frozen=True, slots=True)
class Condition:
    """A relation that must hold between two quantities."""

    text: str
    left: Quantity
    relation: str
    right: Quantity

    @property
    def names(self) -> frozenset[str]:
        """The arguments that it is about."""
        found = (*self.left.arguments, *self.right.arguments)
        return frozenset(name for name in found if name.isidentifier())


def parse_condition(text: str) -> Condition:
    """The condition that `text` describes.

    >>> parse_condition("numel(weight) == size(input, 1)").right
    Quantity(measure='size', arguments=('input', '1'))
    """
    left, relation, right = RELATION.split(text)
    return Condition(text, _quantity(left), relation, _quantity(right))


def _quantity(text: str) -> Quantity:
    found = QUANTITY.fullmatch(text)
    assert found is not None, text
    if found["number"] is not None:
        return Quantity("number", (found["number"],))
    return Quantity(found["measure"], tuple(found["arguments"].split(", ")))


def _channels(*names: str) -> tuple[str, ...]:
    """Each of these has one element for each channel of the input."""
    return ("dim(input) >= 2", *(f"numel({name}) == size(input, 1)" for name in names))


BATCH_NORM = (
    *_channels("weight", "bias", "running_mean", "running_var"),
    "given(training, running_mean) >= 1",
    "given(training, running_var) >= 1",
)
# torch divides the distance by the step in 64 bits, and the lowest integer by -1 ends the process
RANGE = tuple(
    f"value({name}) {sign}4611686018427387904"
    for name in ("start", "end")
    for sign in ("< ", "> -")
)
QUOTIENT = ("overflows(self, other, rounding_mode) == 0",)
# by name without the in-place mark, for all overloads, which may lack some arguments; or for one
WRITTEN: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "native_batch_norm": BATCH_NORM,
        "_native_batch_norm_legit": BATCH_NORM,
        "_native_batch_norm_legit.no_stats": ("value(training) == 1",),
        "_weight_norm": ("numel(v) >= 1", "numel(g) >= 1", "numel(g) == side(v, dim)"),
        "segment_reduce": (
            "least(lengths) >= 0",
            "most(lengths) <= size(data, axis)",
            "least_sum(lengths) == size(data, axis)",
            "most_sum(lengths) == size(data, axis)",
            "least(offsets) >= 0",
            "most(offsets) <= size(data, axis)",
            "least_step(offsets) >= 0",
        ),
        "ctc_loss": (
            "least(input_lengths) >= 0",
            "most(input_lengths) <= size(log_probs, 0)",
            "least(target_lengths) >= 0",
            "most(target_lengths) <= size(targets, -1)",
            "sum(target_lengths) <= numel(targets)",
            "least_of(targets, target_lengths) >= 0",
            "most_of(targets, target_lengths) < size(log_probs, -1)",
        ),
        "_sobol_engine_draw": (
            "value(dimension) == size(sobolstate, 0)",
            "value(dimension) == numel(quasi)",
            "size(sobolstate, 1) >= 30",
            "value(n) >= 0",
            "value(num_generated) >= 0",
            "total(n, num_generated) < 1073741824",
        ),
        "repeat_interleave.Tensor": (
            "least(repeats) >= 0",
            "sum(repeats) == value(output_size)",
        ),
        "repeat_interleave.self_Tensor": (
            "least(repeats) >= 0",
            "repeated(repeats, self, dim) == value(output_size)",
        ),
        "linalg_eigvals": ("infinite(self) == 0",),
        "lcm": ("lowest(self, other) == 0",),
        "arange.start_step": RANGE,
        "arange.start_out": RANGE,
        "div": QUOTIENT,
        "divide": QUOTIENT,
    }
)  # fmt: skip
CONDITIONS: Mapping[str, tuple[Condition, ...]] = MappingProxyType(
    {stem: tuple(map(parse_condition, texts)) for stem, texts in WRITTEN.items()}
)
