"""The intermediate representation, plain data (`Program` itself is in `program.py`).

    Program ── body: Block ── ops: Op ── blocks: Block ── ...
    Value      one name, defined once: an input, a stored tensor, a block's input, an op's result
    Arg        what an op is given: a Value, a constant, or a tuple of these

An op in an inner block names values of the blocks around it directly. Op names are ATen schema
names (`aten::add.Tensor`) and Stator's own, which `stator.program.opset` lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal as OneOf

from stator.location import Location
from stator.program.types import Type


@dataclass(eq=False, slots=True)
class Value:
    """An input, a stored tensor or a result of an op; values are compared by identity."""

    name: str
    type: Type


LiteralKind = OneOf["dtype", "device", "layout", "memory_format"]


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant of torch's own kinds: `Literal("dtype", "float32")`."""

    kind: LiteralKind
    text: str


Constant = None | bool | int | float | complex | str | Literal
Arg = Value | Constant | tuple["Arg", ...]


@dataclass(eq=False, slots=True)
class Op:
    """One step: `results = name(*args, **attributes) { blocks }`, at `place` in the user's file."""

    name: str
    args: tuple[Arg, ...]
    attributes: dict[str, Arg]
    results: tuple[Value, ...]
    blocks: tuple[Block, ...] = ()
    place: Location | None = None


@dataclass(eq=False, slots=True)
class Block:
    """A list of ops, run in order; `outputs` is what it yields."""

    inputs: tuple[Value, ...] = ()
    ops: list[Op] = field(default_factory=list)
    outputs: tuple[Arg, ...] = ()


@dataclass(eq=False, slots=True)
class StoredTensor:
    """A tensor that the program finds beside itself: a parameter, a buffer or a constant."""

    value: Value
    name: str  # `fc.weight`, or `constant_3` for a tensor that no module owns
    kind: OneOf["parameter", "buffer", "constant"]


@dataclass(frozen=True, slots=True)
class StateUse:
    """A state of the model that a program reads and writes, and how many values it consists of."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class InputFacts:
    """What a capture assumed of a tensor that a call gives, beyond its type.

    `layout` is there only where the program relies on it: Python code asked for strides, or
    whether a tensor is contiguous, and the answer is part of the program. `distinct` inputs are
    different tensors: Python code compared them by `is`.
    """

    requires_grad: bool
    layout: tuple[int, ...] | OneOf["contiguous"] | None = None  # numbers are strides
    distinct: bool = False

    def without_layout(self) -> InputFacts:
        """The same, with nothing assumed of the layout."""
        return InputFacts(self.requires_grad, None, self.distinct)


CONTAINERS = (tuple, list, dict)


def values_in(args: object) -> tuple[Value, ...]:
    """The values among `args`, in order, tuples and dicts opened."""
    found: list[Value] = []
    _gather(args, found)
    return tuple(found)


def operands_of(op: Op) -> tuple[Value, ...]:
    """The values that `op` is given; those that its blocks name are not among them."""
    return values_in((op.args, op.attributes))


def _gather(args: object, found: list[Value]) -> None:
    if isinstance(args, Value):
        found.append(args)
    elif isinstance(args, CONTAINERS):
        for arg in args.values() if isinstance(args, dict) else args:
            if isinstance(arg, Value):
                found.append(arg)
            elif isinstance(arg, CONTAINERS):
                _gather(arg, found)


def ops_in(block: Block) -> Iterator[Op]:
    """Every op of `block`, those of inner blocks included, outer ones first."""
    return with_inner_ops(block.ops)


def with_inner_ops(ops: Iterable[Op]) -> Iterator[Op]:
    """Each of `ops`, followed by every op inside its blocks."""
    waiting = [iter(ops)]  # of the blocks that are open, the innermost last
    while waiting:
        for op in waiting[-1]:
            yield op
            if op.blocks:
                waiting += [iter(inner.ops) for inner in reversed(op.blocks)]
                break
        else:
            waiting.pop()


def drop_ops(block: Block, name: str) -> None:
    """Take the ops of this name out of `block` and of the blocks inside it."""
    block.ops[:] = [op for op in block.ops if op.name != name]
    for inner in (one for op in block.ops for one in op.blocks):
        drop_ops(inner, name)


def used_by(op: Op) -> Iterator[Value]:
    """Every value that `op` names, in its arguments or anywhere inside its blocks."""
    yield from operands_of(op)
    waiting = [(iter(block.ops), block) for block in reversed(op.blocks)]
    while waiting:
        ops, block = waiting[-1]
        for inner in ops:
            yield from operands_of(inner)
            if inner.blocks:
                waiting += [(iter(one.ops), one) for one in reversed(inner.blocks)]
                break
        else:
            waiting.pop()
            yield from values_in(block.outputs)
