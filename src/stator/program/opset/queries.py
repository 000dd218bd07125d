"""What the other packages ask about ops: the whole of it is answered by rows."""

from __future__ import annotations

import math
from collections.abc import Callable

from stator.program.ir import Arg, Op, Value, operands_of, values_in
from stator.program.opset.row import Kind, OpRow, Raises
from stator.program.opset.stator_ops import STATOR_ROWS
from stator.program.opset.torch_ops import torch_row
from stator.program.registry import argument_names
from stator.program.sizes import is_static
from stator.program.types import TensorType

COMPUTES: frozenset[Kind] = frozenset({"number", "text", "list", "torch"})
EFFECTS: frozenset[Kind] = frozenset({"raise", "check", "output", "mode"})
STATOR_OPS = frozenset(STATOR_ROWS)
VAST = 2**36  # elements: no machine of today is sure to have room for so many
NOTES = ("host::note", "stator::note")  # what there is to keep if a later op raises


def row_of(name: str) -> OpRow:
    """The row of an op; LookupError if neither Stator nor torch has it."""
    return STATOR_ROWS.get(name) or torch_row(name)


def is_stators(name: str) -> bool:
    """Is this one of Stator's own ops?"""
    return name in STATOR_ROWS


def names_of(*kinds: Kind) -> frozenset[str]:
    """The names of Stator's ops of these kinds."""
    return frozenset(row.name for row in STATOR_ROWS.values() if row.kind in kinds)


def kind_of(op: Op) -> Kind:
    """The kind of an op; `torch` for all that are not Stator's."""
    row = STATOR_ROWS.get(op.name)
    return "torch" if row is None else row.kind


def may_raise(op: Op) -> bool:
    """Does `op` itself raise for some values of its inputs? Its blocks are not looked at."""
    return _raises(op) is Raises.VALUES


def may_raise_for_sizes(op: Op) -> bool:
    """Does `op` raise for some sizes of its inputs, but for no values?"""
    return _raises(op) is Raises.SIZES


def _raises(op: Op) -> Raises:
    """When `op` raises; there may be no memory for a vast result, whatever its row says."""
    return Raises.VALUES if any(map(_is_vast, op.results)) else row_of(op.name).raises(op)


def _is_vast(result: Value) -> bool:
    found = result.type
    return (
        isinstance(found, TensorType) and is_static(found.shape) and math.prod(found.shape) >= VAST
    )


def is_effect(op: Op) -> bool:
    """Does `op` print, raise, check or change a mode?"""
    return kind_of(op) in EFFECTS


def is_removable(op: Op) -> bool:
    """Whether `op` can be removed unnoticed if its results are unused.

    It writes nothing, draws no random number, and cannot raise for any sizes; the error that eager
    code raises is raised by the program too. Its blocks are not looked at.
    """
    row = row_of(op.name)
    if row.kind not in COMPUTES or row.mutates or row.random:
        return False
    return _raises(op) is Raises.NEVER


def leaves_trace(op: Op, is_seen: Callable[[Value], bool] | None = None) -> bool:
    """Whether someone can tell that `op` has run; its blocks are not looked at.

    It prints, writes, draws a random number, or calls Python. With `is_seen`, a write leaves a
    trace only where that holds for what it writes to.
    """
    row = row_of(op.name)
    calls = row.kind in ("output", "gradient", "host") and op.name not in NOTES
    written = written_by(op)
    writes = row.mutates and (is_seen is None or not row.writes or any(map(is_seen, written)))
    return calls or writes or row.random


def is_pure(op: Op) -> bool:
    """Whether `op` writes nothing, draws no random number, and reads nothing but its arguments.

    What its arguments hold may still change between two ops: `Aliases.is_written` tells.
    """
    return row_of(op.name).pure and bool(op.results)


def written_by(op: Op) -> tuple[Value, ...]:
    """The arguments that `op` writes to, in its own step."""
    return _named(op, row_of(op.name).writes)


def aliased_by(op: Op) -> tuple[Value, ...]:
    """The arguments whose memory a result of `op` may share."""
    aliases = row_of(op.name).aliases
    if aliases == "all":
        return operands_of(op)
    return _named(op, aliases)


def _named(op: Op, names: frozenset[str]) -> tuple[Value, ...]:
    if not names:
        return ()
    pairs: list[tuple[str, Arg]] = [*op.attributes.items()]
    if kind_of(op) == "torch":
        pairs = [*zip(argument_names(op.name), op.args, strict=False), *pairs]
    return tuple(value for name, arg in pairs if name in names for value in values_in(arg))
