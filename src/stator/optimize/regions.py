"""outline: maximal straight-line runs of ops that a backend may compile become regions.

    %1 = aten::exp(%x)                  %3 = stator::region() {
    %2 = aten::tanh(%1)            ->     %4 = aten::exp(%x)
    %3 = aten::mul.Tensor(%2, %y)         ...
                                          yield %6
                                        }

Rules say which ops may be in a region, and when one is worth it: `region_rules` has those of
compiled code, `graph_rules` those of CUDA graphs. The ops of a run have no effects and raise
nothing, so any op between them that uses none of their results goes before them;
so does one that uses a few of them that are not worth compiling, with those. Any other op that uses
a result ends the run, and so does a change of mode. Blocks of branches, loops and functions are
outlined too; those of a `try` and of gradients are not.

NOTE: why views are repeated. What a region gives is new memory, so a view, or a size, that an op
outside needs is taken outside, of what the region gives.

NOTE: why a run ends where its own observed results are used. The gradient of a value that the
caller, a hook or `torch.autograd.grad` can see is what all of its uses contribute. Compiled code
contributes only to the inputs of a region: what is used in the region that made it would be missed.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from stator.optimize.alias import Aliases
from stator.optimize.region_rules import FLOATS, CompiledRules
from stator.optimize.substitution import substituted_all, substituted_op
from stator.program.ir import Arg, Block, Op, Value, operands_of, used_by, values_in
from stator.program.opset.queries import is_stators, kind_of
from stator.program.opset.row import Kind
from stator.program.program import Program
from stator.program.regions import REGION, regions_in, without_regions
from stator.program.types import TensorType
from stator.program.verifier import verify

UNTOUCHED: frozenset[Kind] = frozenset({"gradient", "try"})  # their blocks stay as they are
OBSERVERS: frozenset[Kind] = frozenset({"gradient", "host", "keep"})
TOO_FEW = "is in a run that is too short, or has too few elements, to be worth compiling"


@dataclass(frozen=True)
class Outline:
    """A program with regions, and for how many ops of torch each reason held to leave them out."""

    program: Program
    left_out: Mapping[str, int]

    @property
    def regions(self) -> tuple[Op, ...]:
        """Its regions, in order."""
        return regions_in(self.program)


class RegionRules(Protocol):
    """What regions are made of, in one program."""

    is_observing: bool  # whether a run ends where its own observed results are used

    def reasons(self, block: Block) -> Sequence[str]:
        """For each op of `block`: why it cannot be in a region; empty if it can."""

    def is_cheap(self, op: Op) -> bool:
        """Whether `op` is repeated outside a region if something outside needs its results."""

    def is_worth(self, ops: Sequence[Op]) -> bool:
        """Whether a region of these ops is worth it."""

    def is_last(self, op: Op) -> bool:
        """Whether a run ends after `op`."""

    def may_pass(self, ops: Sequence[Op], run: Sequence[Op]) -> bool:
        """Whether `ops` may go before a run, though they come after some of its ops."""


RulesOf = Callable[[Program, Aliases], RegionRules]


def outline(program: Program, rules_of: RulesOf = CompiledRules) -> Outline:
    """`program` with regions for what the rules have in them."""
    outlining = _Outlining(without_regions(program), rules_of)
    functions = {
        name: outlining.block(block) for name, block in outlining.program.functions.items()
    }
    body = outlining.block(outlining.program.body)
    outlined = verify(replace(outlining.program, body=body, functions=functions))
    left_out = {reason: count for reason, count in outlining.left_out.most_common() if count}
    return Outline(outlined, left_out)


def observed_in(program: Program) -> list[Value]:
    """What the caller, a hook or `torch.autograd.grad` can see of a program."""
    seen = [*values_in(program.body.outputs)]
    return seen + [v for op in program.ops() if kind_of(op) in OBSERVERS for v in used_by(op)]


class _Outlining:
    """The walk over one program."""

    def __init__(self, program: Program, rules_of: RulesOf) -> None:
        self.program = program
        aliases = Aliases(program)
        self.rules = rules_of(program, aliases)
        self.is_observed = aliases.in_groups_of(observed_in(program))
        self.names = fresh_names(program)
        self.left_out: collections.Counter[str] = collections.Counter()

    def block(self, block: Block) -> Block:
        """`block` with regions."""
        run, ops = _Run(_users(block)), list[Op]()
        reasons = self.rules.reasons(block)
        for index, (old, why_not) in enumerate(zip(block.ops, reasons, strict=True)):
            reason = why_not or run.other_device(old)
            if not reason and self._uses_observed(old, run):
                ops += self._closed(run)
                run = _Run(run.users)
            if not reason:
                run.add(index, old)
                if self.rules.is_last(old):
                    ops += self._closed(run)
                    run = _Run(run.users)
                continue
            op = self._with_blocks(old)
            if not is_stators(op.name):
                self.left_out[reason] += 1
            if kind_of(op) == "mode" or not self._goes_before(op, run):
                ops += [*self._closed(run), op]
                run = _Run(run.users)
        return Block(block.inputs, [*ops, *self._closed(run)], block.outputs)

    def _with_blocks(self, op: Op) -> Op:
        if kind_of(op) in UNTOUCHED:
            return op
        return replace(op, blocks=tuple(map(self.block, op.blocks)))

    def _goes_before(self, op: Op, run: _Run) -> bool:
        """Lets `op` go before the run, if the ops of the run that it needs are not worth it."""
        needed = run.needed_by(op)
        moved = [*needed.values()]
        if self.rules.is_worth(moved) or not self.rules.may_pass([*moved, op], run.ops):
            return False
        self.left_out[TOO_FEW] += sum(not is_stators(one.name) for one in needed.values())
        run.pass_by(op, needed)
        return True

    def _uses_observed(self, op: Op, run: _Run) -> bool:
        """Whether `op` computes with a result of the run whose gradient can be seen."""
        if not self.rules.is_observing or self.rules.is_cheap(op):
            return False
        given = operands_of(op)
        return any(run.made(v) and _is_float(v) and self.is_observed(v) for v in given)

    def _closed(self, run: _Run) -> list[Op]:
        """The run at its end: a region and what goes around it, or its ops as they were."""
        if not self.rules.is_worth(run.ops):
            self.left_out[TOO_FEW] += sum(not is_stators(op.name) for op in run.ops)
            return run.in_order
        return [*run.passed, *_region(run, self.names, self.rules.is_cheap)]


IsCheap = Callable[[Op], bool]


class _Run:
    """Ops that may become a region, and those between them that go before it."""

    def __init__(self, users: Mapping[Value, frozenset[int]]) -> None:
        self.users = users  # of each value: the places of the ops of the block that use it
        self.passed: list[Op] = []
        self.in_order: list[Op] = []
        self._ops: dict[int, Op] = {}  # by their places
        self._makers: dict[Value, int] = {}
        self._device: str | None = None

    @property
    def ops(self) -> list[Op]:
        """The ops of the run."""
        return list(self._ops.values())

    def add(self, place: int, op: Op) -> None:
        """One more op, at this place of the block."""
        self._ops[place] = op
        self.in_order.append(op)
        self._makers.update(dict.fromkeys(op.results, place))
        self._device = self._device or _device(op)

    def needed_by(self, op: Op) -> dict[int, Op]:
        """The ops of the run that `op` needs, by their places, in order."""
        waiting, found = [op], set[int]()
        while waiting:
            places = {self._makers[v] for v in used_by(waiting.pop()) if v in self._makers}
            waiting += [self._ops[place] for place in places - found]
            found |= places
        return {place: self._ops[place] for place in sorted(found)}

    def pass_by(self, op: Op, needed: Mapping[int, Op]) -> None:
        """An op that needs only `needed` of the run: both go before it."""
        self.passed += [*needed.values(), op]
        self.in_order.append(op)
        for place, one in needed.items():
            del self._ops[place]
            for value in one.results:
                del self._makers[value]

    def made(self, value: Value) -> bool:
        """Whether `value` is a result of the run."""
        return value in self._makers

    def other_device(self, op: Op) -> str:
        """Why `op` cannot be in this run: its tensors are elsewhere."""
        device = _device(op)
        if self._device is None or device is None or device == self._device:
            return ""
        return "has tensors on several devices"

    def is_needed_outside(self, value: Value) -> bool:
        """Whether an op that is not in the run uses `value`."""
        return not self.users.get(value, frozenset()) <= self._ops.keys()


def _region(run: _Run, names: Iterator[str], is_cheap: IsCheap) -> list[Op]:
    """The region of a run, and after it the cheap ops whose results are needed outside."""
    after = _needed_after(run, is_cheap)
    inside = _needed_inside(run, is_cheap)
    wanted = {value for op in after for value in used_by(op)}
    computed = [op for op in run.ops if not is_cheap(op)]
    results = tuple(
        value
        for op in computed
        for value in op.results
        if value in wanted or run.is_needed_outside(value)
    )
    known: dict[Value, Arg] = {}
    ops = [_copied(op, known, names) for op in inside]
    block = Block((), ops, substituted_all(results, known))
    return [Op(REGION, (), {}, results, (block,), computed[0].place), *after]


def _needed_after(run: _Run, is_cheap: IsCheap) -> list[Op]:
    """The cheap ops that something outside needs, in order."""
    needed: set[Value] = set()
    found = []
    for op in reversed(run.ops):
        is_needed = any(v in needed or run.is_needed_outside(v) for v in op.results)
        if is_needed and is_cheap(op):
            found.append(op)
            needed.update(used_by(op))
    return found[::-1]


def _needed_inside(run: _Run, is_cheap: IsCheap) -> list[Op]:
    """The ops that compute, and the cheap ones that they need, in order."""
    needed: set[Value] = set()
    found = []
    for op in reversed(run.ops):
        if not is_cheap(op) or any(value in needed for value in op.results):
            found.append(op)
            needed.update(used_by(op))
    return found[::-1]


def _copied(op: Op, known: dict[Value, Arg], names: Iterator[str]) -> Op:
    """`op` with results of its own, for which `known` is told."""
    made = substituted_op(op, known)
    blocks = tuple(_block_copied(block, known, names) for block in op.blocks)
    results = tuple(Value(next(names), value.type) for value in op.results)
    known.update(zip(op.results, results, strict=True))
    return replace(made, results=results, blocks=blocks)


def _block_copied(block: Block, known: dict[Value, Arg], names: Iterator[str]) -> Block:
    inputs = tuple(Value(next(names), value.type) for value in block.inputs)
    known.update(zip(block.inputs, inputs, strict=True))
    ops = [_copied(op, known, names) for op in block.ops]
    return Block(inputs, ops, substituted_all(block.outputs, known))


def _users(block: Block) -> dict[Value, frozenset[int]]:
    """For each value, the places of the ops that use it; the outputs are after the last op."""
    found: dict[Value, set[int]] = {}
    for index, op in enumerate(block.ops):
        for value in used_by(op):
            found.setdefault(value, set()).add(index)
    for value in values_in(block.outputs):
        found.setdefault(value, set()).add(len(block.ops))
    return {value: frozenset(places) for value, places in found.items()}


def fresh_names(program: Program) -> Iterator[str]:
    """Names that no value of `program` has."""
    taken = {value.name for value in program.values()}
    return (name for n in itertools.count() if (name := f"r{n}") not in taken)


def _device(op: Op) -> str | None:
    kinds = (value.type for value in (*op.results, *values_in(op.args)))
    return next((kind.device for kind in kinds if isinstance(kind, TensorType)), None)


def _is_float(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.dtype in FLOATS
