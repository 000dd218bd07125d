"""substituted(): an argument with other values in it."""

from __future__ import annotations

from collections.abc import Mapping

from stator.program.ir import Arg, Op, Value

Known = Mapping[Value, Arg]  # what represents a value from now on


def substituted(arg: Arg, known: Known) -> Arg:
    """`arg` with what `known` has for each value in it."""
    if isinstance(arg, tuple):
        return substituted_all(arg, known)
    return known.get(arg, arg) if isinstance(arg, Value) else arg


def substituted_all(args: tuple[Arg, ...], known: Known) -> tuple[Arg, ...]:
    """Each of `args`, substituted."""
    return tuple(substituted(arg, known) for arg in args)


def substituted_op(op: Op, known: Known) -> Op:
    """A copy of `op` with its arguments substituted; its blocks are the same."""
    attributes = {name: substituted(arg, known) for name, arg in op.attributes.items()}
    args = substituted_all(op.args, known)
    return Op(op.name, args, attributes, op.results, op.blocks, op.place)
