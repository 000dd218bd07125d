"""inline: a program without functions; a recursion is unrolled to a depth, and an error beyond it.

    %y = stator::call(%x, function='f')    ->   the ops of f, with %x for its input

Each call inside gets a copy of its function, down to `depth` calls inside each other. Beyond that,
it is a `raise` of RecursionError. The depth is less where the copies would be too many, or too
deep inside each other for a file. Regions are taken out too.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

from stator.optimize.substitution import substituted, substituted_all
from stator.program.ir import Arg, Block, Op, Value, ops_in
from stator.program.program import Program
from stator.program.regions import without_regions
from stator.program.verifier import verify

DEPTH = 24
MOST_OPS = 8000
MOST_NESTED = 26  # blocks inside each other: readers of ONNX files stop at about 30


@dataclass(frozen=True)
class Inlined:
    """A program without functions, and how deep its recursion goes; 0 if it has none."""

    program: Program
    depth: int


def inline(program: Program, depth: int = DEPTH) -> Inlined:
    """`program` with its functions put in the place of their calls."""
    program = without_regions(program)
    if not program.functions:
        return Inlined(program, 0)
    while depth > 1 and (
        _size(program.body, program, depth, {}) > MOST_OPS
        or _nesting(program.body, program, depth, {}) > MOST_NESTED
    ):
        depth -= 1
    body = _Copy(program, depth).block(program.body, {}, 0)
    recurs = any(_reaches(program, name, name) for name in program.functions)
    return Inlined(verify(replace(program, body=body, functions={})), depth if recurs else 0)


def _reaches(program: Program, start: str, wanted: str) -> bool:
    """Does the function `start` call the function `wanted`, or one that does?"""
    seen, waiting = set[str](), [start]
    while waiting:
        called = {
            str(op.attributes["function"])
            for op in ops_in(program.functions[waiting.pop()])
            if op.name == "stator::call"
        }
        if wanted in called:
            return True
        waiting += sorted(called - seen)
        seen |= called
    return False


def _size(block: Block, program: Program, depth: int, known: dict[tuple[str, int], int]) -> int:
    """How many ops `block` has once calls are put in place."""
    total = 0
    for op in ops_in(block):
        total += 1
        name = str(op.attributes.get("function")) if op.name == "stator::call" else ""
        if name and depth:
            if (name, depth) not in known:
                known[name, depth] = _size(program.functions[name], program, depth - 1, known)
            total += known[name, depth]
    return total


def _nesting(block: Block, program: Program, depth: int, known: dict[tuple[str, int], int]) -> int:
    """How many blocks are inside each other once calls are put in place."""
    most = 0
    for op in block.ops:
        for inner in op.blocks:
            most = max(most, 1 + _nesting(inner, program, depth, known))
        if op.name != "stator::call":
            continue
        name = str(op.attributes["function"])
        if depth and (name, depth) not in known:
            known[name, depth] = _nesting(program.functions[name], program, depth - 1, known)
        most = max(most, known[name, depth] if depth else 1)
    return most


@dataclass
class _Copy:
    """Copies blocks, with new values for all that they define."""

    program: Program
    depth: int
    names: itertools.count[int] = field(default_factory=itertools.count)

    def block(self, block: Block, known: dict[Value, Arg], depth: int) -> Block:
        inner = dict(known)
        inputs = tuple(self.value(value, inner) for value in block.inputs)
        ops = self.ops(block, inner, depth)
        return Block(inputs, ops, substituted_all(block.outputs, inner))

    def value(self, old: Value, known: dict[Value, Arg]) -> Value:
        known[old] = new = Value(f"c{next(self.names)}", old.type)
        return new

    def ops(self, block: Block, known: dict[Value, Arg], depth: int) -> list[Op]:
        ops: list[Op] = []
        for op in block.ops:
            if op.name == "stator::call":
                ops += self.call(op, known, depth)
                continue
            args = substituted_all(op.args, known)
            attributes = {name: substituted(arg, known) for name, arg in op.attributes.items()}
            blocks = tuple(self.block(inner, known, depth) for inner in op.blocks)
            results = tuple(self.value(value, known) for value in op.results)
            ops.append(Op(op.name, args, attributes, results, blocks, op.place))
        return ops

    def call(self, op: Op, known: dict[Value, Arg], depth: int) -> list[Op]:
        """The ops of the function, or the error that the recursion is too deep."""
        name = str(op.attributes["function"])
        if depth >= self.depth:
            results = tuple(self.value(value, known) for value in op.results)
            text = f"`{name}` calls itself more than {self.depth} times deep"
            error = Op("stator::raise", ("RecursionError", text), {}, (), place=op.place)
            sides = tuple(Block((), [replace(error)], (None,) * len(results)) for _ in range(2))
            return [Op("stator::if", (True,), {}, results, sides, op.place)]
        function = self.program.functions[name]
        given = dict(zip(function.inputs, substituted_all(op.args, known), strict=True))
        ops = self.ops(function, given, depth + 1)
        outputs = substituted_all(function.outputs, given)
        known.update(zip(op.results, outputs, strict=True))
        return ops
