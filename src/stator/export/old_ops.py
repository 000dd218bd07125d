"""Ops that files have and programs no longer do: each is read as what took its place.

stator::list_reverse(list)            list[::-1]
stator::list_pop(list, index)         the list without one item, with the errors of `list.pop`
stator::list_extend(list, other)      list + other
stator::list_repeat(list, times)      list * times
stator::list_take(list, indexes)      [list[i] for i in indexes]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from stator.export.checking import Damage
from stator.program.ir import Arg, Block, Op, Value
from stator.program.list_loops import BOOL, INT, ListLoops
from stator.program.types import ListType, Type

NewValue = Callable[[Type], Value]

# how many arguments each takes
OLD_OPS: Mapping[str, int] = MappingProxyType(
    {
        "stator::list_reverse": 1,
        "stator::list_pop": 2,
        "stator::list_extend": 2,
        "stator::list_repeat": 2,
        "stator::list_take": 2,
    }
)


def translated(op: Op, at: str, new_value: NewValue) -> list[Op]:
    """The ops that do what `op`, one of `OLD_OPS`, did; the last one gives its result."""
    kinds = tuple(value.type for value in op.results)
    if len(op.args) != OLD_OPS[op.name] or op.attributes or op.blocks:
        raise Damage(at, f"gives {op.name} what it does not take")
    if len(kinds) != 1 or not isinstance(kinds[0], ListType):
        raise Damage(at, f"must give a list, as {op.name} does")
    if op.name == "stator::list_reverse":
        return [replace(op, name="stator::list_slice", args=(*op.args, None, None, -1))]
    if op.name == "stator::list_pop":
        return [*_checked_pop(op, new_value), replace(op, name="stator::list_delete")]
    return _looped(op, kinds[0], new_value)


def _looped(op: Op, kind: ListType, new_value: NewValue) -> list[Op]:
    loops, (items, other) = ListLoops(new_value, op.place), op.args
    if op.name == "stator::list_extend":
        loops.extended([kind], [items], [other])
    elif op.name == "stator::list_repeat":
        loops.repeated([kind], [items], other)
    else:
        loops.taken([kind], [items], other)
    *ops, loop = loops.ops
    return [*ops, replace(loop, results=(loop.results[0], *op.results))]


def _checked_pop(op: Op, new_value: NewValue) -> list[Op]:
    """The errors of `list.pop`, which has messages of its own."""
    items, index = op.args
    ops: list[Op] = []

    def number(name: str, kind: Type, *args: Arg) -> Value:
        result = new_value(kind)
        ops.append(Op(f"stator::{name}", args, {}, (result,), place=op.place))
        return result

    def raise_if(condition: Value, text: str) -> None:
        error = Op("stator::raise", ("IndexError", text), {}, (), place=op.place)
        blocks = (Block(ops=[error]), Block())
        ops.append(Op("stator::if", (condition,), {}, (), blocks, op.place))

    length = number("list_length", INT, items)
    raise_if(number("eq", BOOL, length, 0), "pop from empty list")
    too_large = number("ge", BOOL, index, length)
    too_small = number("lt", BOOL, index, number("neg", INT, length))
    raise_if(number("or", BOOL, too_large, too_small), "pop index out of range")
    return ops
