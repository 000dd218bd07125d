"""merge: of equal ops, the first one stays and the others use its results.

    %a = aten::exp(%x); %b = aten::exp(%x)    ->   %a = aten::exp(%x), and %a for %b

Two ops are equal if they have one name, the same arguments and the same modes, and are pure. They
stay two where it could be seen: where somebody writes to what they read or give, or where both
results leave the program, as the caller may write to one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from stator.optimize.alias import Aliases
from stator.optimize.substitution import substituted_all, substituted_op
from stator.program.ir import Arg, Block, Op, Value, operands_of
from stator.program.opset.queries import is_pure, kind_of
from stator.program.program import Program
from stator.program.types import TensorType

GRADIENTS = ("float", "bfloat", "complex")


@dataclass
class _Merging:
    aliases: Aliases
    gradients: bool
    known: dict[Value, Arg] = field(default_factory=dict)
    modes: int = 0  # counts the changes of mode, so that equal ops are under equal ones


def merge(program: Program, *, gradients: bool = True) -> Program:
    """`program` without ops that repeat another.

    With `gradients` an op whose result may carry a gradient stays: two gradients that come back
    through one op are added in another order than through two.
    """
    merging = _Merging(Aliases(program), gradients)
    return program.with_blocks(lambda block: _merged(block, {}, merging))


def _merged(block: Block, seen: dict[object, Op], merging: _Merging) -> Block:
    ops = []
    for op in block.ops:
        merging.modes += kind_of(op) == "mode"
        op = substituted_op(op, merging.known)
        key = _key(op, merging) if is_pure(op) else None
        first = seen.get(key) if key is not None else None
        if first is not None and _may_merge(first, op, merging):
            for result, same in zip(op.results, first.results, strict=True):
                merging.known[result] = same
                merging.aliases.now_one(same, result)
            continue
        if key is not None:
            seen.setdefault(key, op)
        ops.append(replace(op, blocks=tuple(_merged(b, dict(seen), merging) for b in op.blocks)))
    return Block(block.inputs, ops, substituted_all(block.outputs, merging.known))


def _key(op: Op, merging: _Merging) -> object:
    attributes = tuple((name, _exact(arg)) for name, arg in sorted(op.attributes.items()))
    return (op.name, merging.modes, _exact(op.args), attributes)


def _exact(arg: Arg) -> object:
    """Equal for the same constant alone: 1 is not True, and 0.0 is not -0.0."""
    if isinstance(arg, tuple):
        return tuple(map(_exact, arg))
    return arg if isinstance(arg, Value) else (type(arg), repr(arg))


def _may_merge(first: Op, op: Op, merging: _Merging) -> bool:
    aliases = merging.aliases
    touched = operands_of(op) + op.results + first.results
    if any(aliases.is_written(value) for value in touched):
        return False
    if all(any(map(aliases.is_given, one.results)) for one in (first, op)):
        return False
    return not (merging.gradients and any(map(_may_carry_gradient, op.results)))


def _may_carry_gradient(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.dtype.startswith(GRADIENTS)
