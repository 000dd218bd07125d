"""What the branches around the current block have decided: it holds inside of them.

    mask = find_mask(x)                one of None and a tensor
    if mask is not None:               the tag of the union is not 0
        mask = torch.where(mask, ...)  here it is the tensor, and nothing is recorded for None

The values of a program never change, so a condition on them holds in the whole block, and in the
blocks inside of it. After a branch that always raises, the opposite holds for the rest of a block.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy
import torch

from stator.capture.any_recorder import AnyRecorder
from stator.values.symbolic import Undefined
from stator.values.union import Union

MOST = 64  # conditions looked at: deeper ones only cost time


def expression_of(condition: object) -> sympy.Basic:
    """The condition as sympy has it; true where it is no symbolic one."""
    return condition.node.expr if isinstance(condition, torch.SymBool) else sympy.true


def assume(recorder: AnyRecorder, fact: sympy.Basic) -> None:
    """`fact` holds from here on, in the current block."""
    scope = recorder.scope
    if fact != sympy.true and len(scope.assumed) < MOST:
        scope.assumed = (*scope.assumed, fact)


def answer(recorder: AnyRecorder, question: Any) -> bool | None:
    """What the branches around this block say of `question`, if anything."""
    opposite = sympy.Not(question)
    for fact in _facts(recorder):
        if fact == question:
            return True
        if fact == opposite:
            return False
    return None


def possible(recorder: AnyRecorder, union: Union) -> list[tuple[int, object]]:
    """The alternatives that a run can have here, with their numbers; one of them is defined."""
    alternatives = list(enumerate(union.alternatives))
    tag = union.tag.node.expr if isinstance(union.tag, torch.SymInt) else None
    if not isinstance(tag, sympy.Symbol):
        return alternatives
    facts = [fact for fact in _facts(recorder) if tag in fact.free_symbols]
    left = [one for one in alternatives if not any(_excludes(fact, tag, one[0]) for fact in facts)]
    is_defined = any(not isinstance(value, Undefined) for _, value in left)
    return left if is_defined else alternatives


def narrowed(recorder: AnyRecorder, value: object) -> Any:
    """`value`, or the one alternative of it that is possible here; of a tuple, each item."""
    if type(value) is tuple:
        return tuple(narrowed(recorder, item) for item in value)
    if not isinstance(value, Union):
        return value
    left = possible(recorder, value)
    return left[0][1] if len(left) == 1 else value


def narrowed_state(recorder: AnyRecorder, state: Any, before: Any) -> Any:
    """The contents of an object, narrowed where they are other ones than `before`."""
    if type(state) is not dict or type(before) is not dict:
        return state
    return {
        key: item if before.get(key) is item else narrowed(recorder, item)
        for key, item in state.items()
    }


def _facts(recorder: AnyRecorder) -> Iterator[sympy.Basic]:
    for scope in recorder.scope.chain():
        for fact in scope.assumed:
            yield from sympy.And.make_args(fact)


def _excludes(fact: sympy.Basic, tag: sympy.Symbol, index: int) -> bool:
    return fact.xreplace({tag: sympy.Integer(index)}) == sympy.false
