"""number_facts: which numbers of a program a device could hold, and what is known of the integers.

A number that is read of a tensor, and what is computed from it, need not come to the host as long
as only the device needs it. So can the numbers that a loop carries whose condition is such a
number: a loop counter is 0, 1, 2 ... without the host being there.

Python's integers do not overflow, those of a device do. An integer is *small* if it begins below
2**31 and has only had constants below 2**20 added to it since. That takes more than 2**42 additions
to overflow: months, at a microsecond each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stator.optimize.limited_loops import limited_loops
from stator.program.ir import Arg, Block, Op, Value
from stator.program.opset.queries import kind_of
from stator.program.program import Program
from stator.program.types import NumberType, TensorType

READS = frozenset({"aten::item", "aten::is_nonzero"})
SMALL, STEP = 2**31, 2**20
SMALL_DTYPES = frozenset({"bool", "uint8", "int8", "int16", "int32"})
NATURAL_DTYPES = frozenset({"bool", "uint8"})


@dataclass(frozen=True, slots=True)
class NumberFacts:
    """What is known of a number."""

    on_device: bool = False
    is_small: bool = False  # an integer that cannot overflow
    is_natural: bool = False  # and is never negative

    def joined(self, other: NumberFacts) -> NumberFacts:
        """What is known of a number that is one of two."""
        return NumberFacts(
            self.on_device or other.on_device,
            self.is_small and other.is_small,
            self.is_natural and other.is_natural,
        )


def number_facts(
    program: Program, read_by_host: frozenset[Value] = frozenset()
) -> Mapping[Value, NumberFacts]:
    """What is known of each number of `program`; some of those read of tensors the host reads."""
    walk = _Walk(read_by_host, limited_loops(program))
    for block in program.blocks:
        walk.block(block)
    return walk.known


class _Walk:
    def __init__(self, read_by_host: frozenset[Value], limited: frozenset[Op]) -> None:
        self.known: dict[Value, NumberFacts] = {}
        self._read_by_host = read_by_host
        self._limited = limited  # their iterations are recorded one after the other

    def of(self, arg: Arg) -> NumberFacts:
        """What is known of a number, or of a constant."""
        if isinstance(arg, Value):
            return self.known.get(arg, NumberFacts())
        if isinstance(arg, int):
            return NumberFacts(False, abs(arg) < SMALL, arg >= 0)
        return NumberFacts()

    def block(self, block: Block) -> None:
        """Learn of the numbers of a block; those it is given are known."""
        for op in block.ops:
            self._op(op)

    def _op(self, op: Op) -> None:
        kind = kind_of(op)
        if op.name in READS:
            (result,) = op.results
            self.known[result] = NumberFacts() if result in self._read_by_host else _read(op)
        elif kind == "number":
            self.known[op.results[0]] = self._computed(op)
        elif kind == "branch":
            self._branch(op)
        elif kind == "loop":
            self._loop(op)
        else:
            for block in op.blocks:
                self.block(block)
            for value in op.results:  # sizes, and what the host computes
                self.known[value] = NumberFacts()

    def _computed(self, op: Op) -> NumberFacts:
        given = [self.of(arg) for arg in op.args]
        small, natural = _integer_rules(op, given)
        return NumberFacts(any(one.on_device for one in given), small, natural)

    def _branch(self, op: Op) -> None:
        for block in op.blocks:
            self.block(block)
        chooses = NumberFacts(self.of(op.args[0]).on_device, True, True)
        for value, *yielded in zip(op.results, *(b.outputs for b in op.blocks), strict=True):
            first, second = map(self.of, yielded)
            self.known[value] = first.joined(second).joined(chooses)

    def _loop(self, op: Op) -> None:
        (body,) = op.blocks
        carried = [self.of(arg) for arg in op.args[1:]]
        while True:
            self.known.update(zip(body.inputs, carried, strict=True))
            self.block(body)
            test, *yielded = map(self.of, body.outputs)
            is_there = test.on_device and op not in self._limited
            runs_there = NumberFacts(is_there, True, True)
            settled = [
                one if given is taken else one.joined(new).joined(runs_there)
                for one, new, given, taken in zip(
                    carried, yielded, body.outputs[1:], body.inputs, strict=True
                )
            ]
            if settled == carried:
                break
            carried = settled
        self.known.update(zip(op.results, carried, strict=True))


def _read(op: Op) -> NumberFacts:
    kind = op.args[0].type if isinstance(op.args[0], Value) else None
    if not isinstance(kind, TensorType):
        return NumberFacts()
    return NumberFacts(True, kind.dtype in SMALL_DTYPES, kind.dtype in NATURAL_DTYPES)


def _integer_rules(op: Op, given: Sequence[NumberFacts]) -> tuple[bool, bool]:
    """Whether the result is a small integer, and a natural one."""
    if op.results[0].type == NumberType("bool"):
        return True, True
    if op.results[0].type != NumberType("int"):
        return False, False
    constants = [arg for arg in op.args if isinstance(arg, int)]
    small, natural = all(one.is_small for one in given), all(one.is_natural for one in given)
    has_step = any(abs(one) <= STEP for one in constants)
    match op.name.removeprefix("stator::"):
        case "add":
            return small and has_step, natural
        case "sub":
            return small and has_step, False
        case "min" | "int":
            return small, natural
        case "max":
            return small, any(one.is_natural for one in given)
        case "neg":
            return small, False
        case "abs":
            return small, True
        case "mod" | "floordiv" if isinstance(op.args[1], int) and op.args[1] > 0:
            return small, natural or op.name == "stator::mod"
    return False, False
