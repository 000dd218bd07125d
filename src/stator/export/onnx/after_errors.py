"""What comes after an error in a branch or a loop, where it could fail by itself.

    if not stack: raise ValueError("unbalanced")   ->   if not stack: raise ...
    item = stack.pop()                                  if there is no error: item = stack.pop()

ONNX Runtime runs the nodes after a reported error too. One that fails would end the run with an
error other than the one that Python raises.
"""

from __future__ import annotations

from collections.abc import Sequence

from stator.program.ir import Block, Op, Value, values_in, with_inner_ops
from stator.program.types import NumberType

RAISING = frozenset({"stator::raise", "stator::assert"})
FAILING = frozenset(
    {"stator::list_get", "stator::list_set", "stator::list_delete", "aten::select.int",
     "aten::index.Tensor", "aten::index_put", "aten::gather", "aten::index_select",
     "aten::embedding", "aten::view", "aten::reshape", "aten::stack", "aten::cat"}
)  # fmt: skip


def comes_after_error(ops: Sequence[Op], index: int) -> bool:
    """Whether the op before `index` may raise an error, and one from there on may fail as well."""
    if not index or not any(one.name in RAISING for one in with_inner_ops([ops[index - 1]])):
        return False
    return any(one.name in FAILING for one in with_inner_ops(ops[index:]))


def unless_error(block: Block, index: int, fine: Value) -> Op:
    """The ops of `block` from `index` on as a branch, for runs in which `fine` is true."""
    rest = block.ops[index:]
    made = {result for op in rest for result in op.results}
    live = tuple(dict.fromkeys(value for value in values_in(block.outputs) if value in made))
    sides = (Block((), rest, live), Block((), [], (None,) * len(live)))
    return Op("stator::if", (fine,), {}, live, sides, place=rest[0].place)


def fine_value() -> Value:
    """Whether there was no error, as a value of the program."""
    return Value("fine", NumberType("bool"))
