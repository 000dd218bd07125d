"""Loops that build lists: what `a + b`, `a * n` and `[a[i] for i in indexes]` are in a program.

    %n = stator::list_length(%b)
    %more = stator::gt(%n, 0)
    %k, %sum = stator::while(%more, 0, %a) (%i, %items) {
      %item = stator::list_get(%b, %i)
      %longer = stator::list_append(%items, %item)
      %next = stator::add(%i, 1)
      %again = stator::lt(%next, %n)
      yield %again, %next, %longer
    }

A list whose items have several parts is several lists of one length, the *columns*: one loop
builds them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from stator.location import Location
from stator.program.ir import Arg, Block, Op, Value
from stator.program.types import ListType, NumberType, Type

INT, BOOL = NumberType("int"), NumberType("bool")


@dataclass(frozen=True)
class ListLoops:
    """Makes the ops: `new_value` gives each value of theirs, `place` is where they are."""

    new_value: Callable[[Type], Value]
    place: Location | None
    ops: list[Op] = field(default_factory=list)

    def extended(
        self, types: Sequence[ListType], columns: Sequence[Arg], others: Sequence[Arg]
    ) -> tuple[Value, ...]:
        """`columns`, each with the items of the list in `others` at its end."""
        length = self._op(self.ops, "list_length", INT, others[0])
        return self._loop(types, columns, others, length, lambda _, k: k)

    def repeated(
        self, types: Sequence[ListType], columns: Sequence[Arg], times: Arg
    ) -> tuple[Value, ...]:
        """`columns`, each so many times."""
        length = self._op(self.ops, "list_length", INT, columns[0])
        count = self._op(self.ops, "mul", INT, length, times)
        start = [self._op(self.ops, "list_make", kind) for kind in types]
        return self._loop(
            types, start, columns, count, lambda ops, k: self._op(ops, "mod", INT, k, length)
        )

    def taken(
        self, types: Sequence[ListType], columns: Sequence[Arg], indexes: Arg
    ) -> tuple[Value, ...]:
        """The items of `columns` at `indexes`."""
        count = self._op(self.ops, "list_length", INT, indexes)
        start = [self._op(self.ops, "list_make", kind) for kind in types]
        return self._loop(
            types, start, columns, count, lambda ops, k: self._op(ops, "list_get", INT, indexes, k)
        )

    def _loop(
        self,
        types: Sequence[ListType],
        start: Sequence[Arg],
        sources: Sequence[Arg],
        count: Value,
        index_of: Callable[[list[Op], Value], Value],
    ) -> tuple[Value, ...]:
        """`start`, each with `count` items of its source at the end: those at `index_of(k)`."""
        carried: tuple[Type, ...] = (INT, *types)
        at, *items = [self.new_value(kind) for kind in carried]
        ops: list[Op] = []
        index = index_of(ops, at)
        longer = []
        for kind, source, column in zip(types, sources, items, strict=True):
            item = self._op(ops, "list_get", kind.element, source, index)
            longer.append(self._op(ops, "list_append", kind, column, item))
        following = self._op(ops, "add", INT, at, 1)
        again = self._op(ops, "lt", BOOL, following, count)
        body = Block((at, *items), ops, (again, following, *longer))
        begins = self._op(self.ops, "gt", BOOL, count, 0)
        results = tuple(self.new_value(kind) for kind in carried)
        args = (begins, 0, *start)
        self.ops.append(Op("stator::while", args, {}, results, (body,), self.place))
        return results[1:]

    def _op(self, ops: list[Op], name: str, kind: Type, *args: Arg) -> Value:
        result = self.new_value(kind)
        ops.append(Op(f"stator::{name}", args, {}, (result,), place=self.place))
        return result
