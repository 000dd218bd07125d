"""capture_if: both sides of a branch are recorded, and what they leave is joined."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import sympy
import torch

from stator.capture.assumptions import assume, expression_of, narrowed, possible
from stator.capture.blocks import (
    BlockRecord,
    changed_objects,
    describe_states,
    describe_value,
    outputs,
    put_state,
    record_block,
    refuse_aliases,
    with_keys,
)
from stator.capture.errors.boundary import internal
from stator.capture.flatten import NOTHING, instantiate, new_leaves, settle
from stator.capture.recorder import Recorder
from stator.errors import StatorError, UnsupportedCall
from stator.program.ir import Block, Value
from stator.values.kinds import BOTTOM, Kind
from stator.values.merge import merge
from stator.values.symbolic import Diverged, Undefined, raise_for_user
from stator.values.union import Union

Code = Callable[[], Any]
Emit = Callable[[list[Block], list[Value]], None]
MOST_WAYS = 2500  # of nested alternatives; more would take minutes to record


def capture_if(
    recorder: Recorder, condition: object, then: Code, orelse: Code, *, names: Sequence[str] = ()
) -> Any:
    """The value of `then()` or `orelse()`, whichever a run takes; what they change is joined.

    `names` are those that the caller gives their values after the branch.
    """

    def emit(blocks: list[Block], results: list[Value]) -> None:
        recorder.emit("stator::if", (recorder.arg(condition),), results, blocks=blocks)

    holds = expression_of(condition)
    fails = sympy.Not(holds) if holds != sympy.true else holds
    with recorder.joining(names):
        sides = [
            record_block(recorder, functools.partial(_side, recorder, holds, then)),
            record_block(recorder, functools.partial(_side, recorder, fails, orelse)),
        ]
        value = _truth_of_sides(condition, sides)
        if value is None:
            value = join_sides(recorder, sides, emit)
    for side, fact in zip(sides, (fails, holds), strict=True):
        if side.value is NOTHING:
            assume(recorder, fact)
    return value


def _side(recorder: Recorder, fact: sympy.Basic, code: Code) -> Any:
    """The result of one side: `code` runs while the recorder assumes `fact`."""
    assume(recorder, fact)
    return narrowed(recorder, code())


def _truth_of_sides(condition: object, sides: list[BlockRecord]) -> torch.SymBool | None:
    """`True if condition else False` is the condition itself; None if it is not that simple."""
    if not isinstance(condition, torch.SymBool):
        return None
    if any(side.scope.block.ops or side.changed for side in sides):
        return None
    yes, no = (side.value for side in sides)
    if isinstance(yes, bool) and isinstance(no, bool) and yes is not no:
        return condition if yes else torch.sym_not(condition)
    if not isinstance(yes, bool) or not isinstance(no, torch.SymBool):
        return None
    if no.node.expr.free_symbols != condition.node.expr.free_symbols:  # not of one tag
        return None
    return condition | no if yes else torch.sym_not(condition) & no


@internal
def join_sides(recorder: Recorder, sides: list[BlockRecord], emit: Emit) -> Any:
    """One value for what the sides gave; `emit` records the op that chooses between them."""
    objects = changed_objects(sides)
    states = [[side.state_after(obj) for side in sides] for obj in objects]
    values = [[side.value for side in sides], *states]
    fresh = recorder.provenance.created_since(sides[0].scope)
    for index in range(len(sides)):
        refuse_aliases([sides[index].value], fresh, [state[index] for state in states])
    kinds = [_join(recorder, [describe_value(value, fresh) for value in values[0]])]
    kinds += [_join(recorder, describe_states(state, fresh)) for state in states]
    results = _emit_sides(recorder, sides, values, kinds, emit)
    if all(side.value is NOTHING for side in sides):
        raise Diverged
    leaves = iter(results)
    new = [instantiate(recorder, kind, leaves) for kind in kinds]
    for obj, state in zip(objects, new[1:], strict=True):
        put_state(recorder, obj, state)
    return new[0]


def _join(recorder: Recorder, kinds: Sequence[Kind]) -> Kind:
    """The kind after the branch; where one side raises, what the other made must still come out."""
    joined = functools.reduce(merge, kinds)
    return settle(recorder, joined) if BOTTOM in kinds else joined


def _emit_sides(
    recorder: Recorder,
    sides: list[BlockRecord],
    values: list[list[object]],
    kinds: list[Kind],
    emit: Emit,
) -> list[Value]:
    """Record the op, unless no side does anything."""
    for index, side in enumerate(sides):
        mine = [with_keys(value[index], kind) for value, kind in zip(values, kinds, strict=True)]
        side.scope.block.outputs = tuple(outputs(recorder, side.scope, mine, kinds))
    results = [value for kind in kinds for value in new_leaves(recorder, kind)]
    if results or any(side.scope.block.ops for side in sides):
        emit([side.scope.block for side in sides], results)
    return results


def apply_variant(recorder: Recorder, variant: Union, function: Callable[[object], object]) -> Any:
    """`function` of the alternative that a run has; an alternative it fails for raises there."""
    alternatives = possible(recorder, variant)
    for index, value in list(alternatives):
        error = _fails(recorder, function, value)
        if error is not None and len(alternatives) > 1:
            alternatives.remove((index, value))
            _raise_if(recorder, variant.tag == index, error)
    return _apply_each(recorder, variant.tag, alternatives, function)


def apply_to_all(recorder: Recorder, variant: Union, function: Callable[[object], object]) -> Any:
    """`function` of the alternative that a run has, whatever it is."""
    return _apply_each(recorder, variant.tag, possible(recorder, variant), function)


def _apply_each(
    recorder: Recorder,
    tag: torch.SymInt,
    alternatives: list[tuple[int, object]],
    function: Callable[[object], object],
) -> Any:
    """The same, inside of which others may be applied: the number of all ways is limited."""
    outer = recorder.ways
    recorder.ways *= len(alternatives)
    if outer > 1 and recorder.ways > MOST_WAYS:
        recorder.ways = outer
        raise UnsupportedCall(
            f"an operation on values that may be one of {outer * len(alternatives)} combinations: "
            "it would be recorded for each of them",
            fix="keep numbers in lists or tensors, and compare those",
        )  # fmt: skip
    try:
        return _choose(recorder, tag, alternatives, function)
    finally:
        recorder.ways = outer


def defined(recorder: Recorder, variant: Union, error: Exception) -> Any:
    """`variant` without its undefined alternative, which raises `error` at run time."""
    alternatives = possible(recorder, variant)
    for index, value in list(alternatives):
        if isinstance(value, Undefined):
            alternatives.remove((index, value))
            _raise_if(recorder, variant.tag == index, error)
    return _choose(recorder, variant.tag, alternatives, lambda value: value)


def bound_value(recorder: Recorder, value: object, error: Callable[[Undefined], NameError]) -> Any:
    """What a name holds; `error` says what is raised where it may be unbound."""
    if isinstance(value, Undefined):
        raise error(value)
    held = value.alternatives if isinstance(value, Union) else ()
    missing = next((one for one in held if isinstance(one, Undefined)), None)
    if not isinstance(value, Union) or missing is None:
        return value
    return defined(recorder, value, error(missing))


def without_undefined(recorder: Recorder, variant: Union) -> Any:
    """`variant` without its undefined alternative, which no run has here."""
    alternatives = list(enumerate(variant.alternatives))
    possible = [one for one in alternatives if not isinstance(one[1], Undefined)]
    if len(possible) == len(alternatives):
        return variant
    return _choose(recorder, variant.tag, possible, lambda value: value)


def _fails(
    recorder: Recorder, function: Callable[[object], object], value: object
) -> Exception | None:
    """The error that `function` raises for a plain constant at once, if it does.

    It is tried in a block of its own, which is dropped: what the call does is not done here.
    """
    if isinstance(value, Undefined):
        return value.error()
    if value is not None:
        return None
    found: list[Exception] = []

    def attempt() -> None:
        try:
            function(value)
        except StatorError:
            pass
        except Exception as error:  # noqa: BLE001 (the user's error is what is asked for)
            found.append(error)

    record_block(recorder, attempt)
    return found[0] if found else None


def _raise_if(recorder: Recorder, condition: object, error: Exception) -> None:
    capture_if(recorder, condition, functools.partial(raise_for_user, error), lambda: None)


def _choose(
    recorder: Recorder,
    tag: torch.SymInt,
    alternatives: list[tuple[int, object]],
    function: Callable[[object], object],
) -> Any:
    (index, value), *rest = alternatives
    if not rest:
        return function(value)
    return capture_if(
        recorder,
        tag == index,
        lambda: function(value),
        lambda: _choose(recorder, tag, rest, function),
    )
