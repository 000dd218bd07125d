"""Aliases: which values may share memory, and what is written; the ground of merge and in-place.

Values that may share memory form a group: a view and what it looks at, what goes into a branch, a
loop, a list or a function and what comes out of it. Where torch does not say (a composite op may
give back its argument, or a view of it), they are taken to share it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from stator.program.ir import Arg, Block, Op, Value, operands_of, values_in, with_inner_ops
from stator.program.opset.queries import aliased_by, kind_of, written_by
from stator.program.program import Program
from stator.program.types import ListType, TensorType
from stator.program.typing_rules import present


class Aliases:
    """What the ops of one program do to memory."""

    def __init__(self, program: Program) -> None:
        self._parent: dict[Value, Value] = {}
        self._written: set[Value] = set()
        for op in program.ops():
            self._join(op, program)
        for op in program.ops():
            self._written.update(map(self._root, written_by(op)))
        outside = [*program.inputs, *(stored.value for stored in program.stored)]
        self._outside = {self._root(value) for value in outside}
        self._given = {self._root(value) for value in values_in(program.body.outputs)}
        self._sizes: dict[Value, int] = {}
        for value in program.values():
            root = self._root(value)
            self._sizes[root] = self._sizes.get(root, 0) + 1

    def is_written(self, value: Value) -> bool:
        """Does any op write where `value` is?"""
        return self._root(value) in self._written

    def is_given(self, value: Value) -> bool:
        """May `value` be part of what the program gives to its caller?"""
        return self._root(value) in self._given

    def is_alone(self, value: Value) -> bool:
        """Does no other value, and nothing outside, share the memory of `value`?"""
        root = self._root(value)
        return root not in self._outside and self._sizes[root] == 1

    def share(self, one: Value, other: Value) -> bool:
        """May the two be in the same memory?"""
        return self._root(one) is self._root(other)

    def in_groups_of(self, values: Iterable[Value]) -> Callable[[Value], bool]:
        """Tells of a value whether it may be in the same memory as one of `values`."""
        roots = {self._root(value) for value in values if _has_memory(value)}
        return lambda value: self._root(value) in roots

    def root(self, value: Value) -> Value:
        """The value that represents all those that may be in the memory of `value`."""
        return self._root(value)

    def groups(self, program: Program) -> dict[Value, list[Value]]:
        """The values of `program` by the value that represents their memory."""
        found: dict[Value, list[Value]] = {}
        for value in program.values():
            found.setdefault(self._root(value), []).append(value)
        return found

    def now_one(self, first: Value, other: Value) -> None:
        """`first` represents `other` as well from now on."""
        mine, its = self._root(first), self._root(other)
        if mine is its or not _has_memory(first):
            return
        self._parent[its] = mine
        self._sizes[mine] += self._sizes[its]
        for group in (self._written, self._outside, self._given):
            if its in group:
                group.add(mine)

    def _root(self, value: Value) -> Value:
        path = []
        while value in self._parent:
            path.append(value)
            value = self._parent[value]
        self._parent.update(dict.fromkeys(path, value))  # the next walk is one step
        return value

    def _share(self, values: Iterable[Value]) -> None:
        roots = list(dict.fromkeys(self._root(value) for value in values if _has_memory(value)))
        for other in roots[1:]:
            self._parent[other] = roots[0]

    def _share_pairs(self, *columns: tuple[Arg, ...]) -> None:
        for row in zip(*columns, strict=True):
            self._share(values_in(row))

    def _join(self, op: Op, program: Program) -> None:
        kind = kind_of(op)
        if kind in ("branch", "try", "region"):
            self._share_pairs(op.results, *(block.outputs for block in op.blocks))
            self._join_kept(op)
        elif kind == "loop":
            (body,) = op.blocks
            self._share_pairs(op.args[1:], body.inputs, body.outputs[1:], op.results)
        elif kind == "call":
            function = program.functions[str(op.attributes["function"])]
            self._share_pairs(op.args, function.inputs)
            self._share_pairs(function.outputs, op.results)
        elif shared := aliased_by(op):
            self._share([*op.results, *shared])

    def _join_kept(self, op: Op) -> None:
        """What a `try` keeps for its handlers: before it, on the way, and as they take it."""
        if kind_of(op) != "try":
            return
        kept = [inner for inner in with_inner_ops([op]) if kind_of(inner) == "keep"]
        rows = [one.args for one in kept if one.attributes == {"number": op.attributes["number"]}]
        for handler in op.blocks[1:]:
            self._share_pairs(op.args, handler.inputs[2 : 2 + len(op.args)], *rows)


def _has_memory(value: Value) -> bool:
    return isinstance(present(value.type), TensorType | ListType)


def last_uses(block: Block) -> dict[Value, int]:
    """For each value named in `block`: the last of its ops that does so; its length for outputs."""
    last: dict[Value, int] = {}
    for index, op in enumerate(block.ops):
        for inner in with_inner_ops([op]):
            last.update(dict.fromkeys(operands_of(inner), index))
            for nested in inner.blocks:
                last.update(dict.fromkeys(values_in(nested.outputs), index))
    last.update(dict.fromkeys(values_in(block.outputs), len(block.ops)))
    return last
