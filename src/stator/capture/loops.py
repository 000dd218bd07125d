"""capture_while: the body is recorded until the kinds of what it carries no longer change.

A variable starts as exactly what it is before the loop. Where the body leaves something else, its
kind is widened to cover both, and the body is recorded again. What the body leaves as it was is not
carried at all.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from stator.capture.blocks import (
    BlockRecord,
    changed_objects,
    describe_value,
    outputs,
    put_state,
    record_block,
    refuse_aliases,
    whole,
    with_keys,
)
from stator.capture.errors.boundary import internal
from stator.capture.errors.variable_names import name_of_object
from stator.capture.flatten import NOTHING, instantiate, new_leaves
from stator.capture.loop_memory import Carried
from stator.capture.recorder import Recorder
from stator.errors import LoopStateChanged, StatorError
from stator.frames import current_place
from stator.program.ir import Arg, Value
from stator.program.types import TensorType
from stator.values.contents import state_of
from stator.values.describe import describe_state, forms_of, generalise
from stator.values.kinds import Fresh, Kind, is_map
from stator.values.merge import as_pairs, merge, merge_maps, sites_in, widen_growing
from stator.values.sites import Shared

ROUNDS = 16


class Variables(Protocol):
    """The local names that a loop assigns."""

    names: tuple[str, ...]
    steps: Mapping[str, int]  # names of numbers, and what every iteration adds to them

    def read(self) -> tuple[Any, ...]:
        """The values that the names have now."""

    def write(self, values: tuple[object, ...]) -> None:
        """Give the names these values."""


@dataclass
class Round:
    """One recording of the body: what it was entered with, and what it left."""

    body: BlockRecord
    inputs: list[Value]
    condition: Any
    after: list[Any]  # names, then the states of the objects carried
    entered: list[Any]  # what the names were when it began

    def changes(self, position: int) -> bool:
        """Does the body end, and leave something else in a name than it was given?"""
        is_left = self.after[position] is self.entered[position]
        return self.body.value is not NOTHING and not is_left


def capture_while(
    recorder: Recorder,
    variables: Variables,
    condition: object,
    body: Callable[[], object],
) -> None:
    """Record a loop while `condition` holds; `body` runs once and gives the next condition."""
    with recorder.joining(variables.names):
        _capture_while(recorder, variables, condition, body)


def _capture_while(
    recorder: Recorder, variables: Variables, condition: object, body: Callable[[], object]
) -> None:
    outer = recorder.loops
    memory = recorder.loops = outer.loop_at(current_place())
    try:
        names = list(variables.read())
        kinds: list[Kind] = [describe_value(value) for value in names]
        carried = memory.start(recorder.sees, names, kinds)
        turn = None if carried is None else _settle_at_once(recorder, variables, carried, body)
        if carried is None or turn is None:
            carried, turn = _settled(recorder, variables, Carried(names, kinds), body)
        memory.remember(recorder.provenance, kinds, carried, outer.started)
    finally:
        recorder.loops = outer
    _emit_while(recorder, variables, condition, carried, turn)


def _settled(
    recorder: Recorder, variables: Variables, start: Carried, body: Callable[[], object]
) -> tuple[Carried, Round]:
    """What is carried in the end, from `start` on, and the last round."""
    memory, names = recorder.loops, start.entry
    likely = _likely(variables, names, start.kinds) if memory.may_guess else start.kinds
    if likely != start.kinds:
        carried = Carried(names.copy(), likely.copy())
        guessed = [k for k, kind in enumerate(start.kinds) if kind != likely[k]]
        with contextlib.suppress(StatorError):  # if it is the user's, it is raised again
            turn = _settle(recorder, variables, carried, body)
            if all(turn.changes(position) for position in guessed):
                return carried, turn
        memory.may_guess = False
    carried = Carried(names.copy(), start.kinds.copy())
    return carried, _settle(recorder, variables, carried, body)


def _likely(variables: Variables, names: list[object], kinds: list[Kind]) -> list[Kind]:
    """The kinds after one round, of tensors and of numbers that every iteration adds to.

    NOTE: a loop assigns these names, so they are hardly ever left as they were. To begin so saves a
    round; and as a round records all loops inside, loops inside each other would be recorded as
    often as they are deep.
    """
    found = kinds.copy()
    for index, (name, value) in enumerate(zip(variables.names, names, strict=True)):
        if isinstance(value, torch.Tensor):
            found[index] = generalise(kinds[index])
        elif type(value) is int and name in variables.steps:
            found[index] = merge(kinds[index], describe_value(value + variables.steps[name]))
    return found


def _settle_at_once(
    recorder: Recorder, variables: Variables, carried: Carried, body: Callable[[], object]
) -> Round | None:
    """One round; None if something else than `carried` has to be carried."""
    kinds = carried.kinds
    with contextlib.suppress(StatorError):  # if it is the user's, it is raised again
        turn = _record_round(recorder, variables, carried, body)
        is_settled = _widen_carried(recorder, variables, carried, turn) and carried.kinds == kinds
        return turn if is_settled else None
    return None


def _settle(
    recorder: Recorder, variables: Variables, carried: Carried, body: Callable[[], object]
) -> Round:
    """Rounds until what is carried no longer changes."""
    for _ in range(ROUNDS):
        turn = _record_round(recorder, variables, carried, body)
        begun = carried.kinds
        if _widen_carried(recorder, variables, carried, turn):
            return turn
    refusal = _never_settles(variables.names, carried, begun, turn)
    sites = sites_in(carried.kinds)  # an object that holds another one, and so on
    raise Shared(sites, refusal) if sites else refusal


def _widen_carried(recorder: Recorder, variables: Variables, carried: Carried, turn: Round) -> bool:
    """Carry what `turn` needs; True if that is nothing new."""
    found = [obj for obj in changed_objects([turn.body]) if not _holds(carried.objects, obj)]
    carried.objects += found
    states = [state_of(obj) for obj in found]
    carried.entry += states
    kinds = carried.kinds + [describe_state(state) for state in states]
    turn.after += [turn.body.state_after(obj) for obj in found]
    fresh = recorder.provenance.created_since(turn.body.scope)
    names = len(variables.names)
    refuse_aliases(turn.after[:names], fresh, turn.after[names:])
    carried.kinds = _widen(kinds, turn.after, len(variables.names), fresh)
    return carried.kinds == kinds and not found  # an object just found is carried next time


def _holds(objects: list[object], obj: object) -> bool:
    return any(obj is other for other in objects)


def _record_round(
    recorder: Recorder,
    variables: Variables,
    carried: Carried,
    body: Callable[[], object],
) -> Round:
    """Record the body once, entered with fresh values of the kinds that are carried."""
    kinds, objects = carried.kinds, carried.objects
    recorder.loops.begin_round()
    before = variables.read()
    inputs = [value for kind in kinds for value in new_leaves(recorder, kind)]
    recorder.carried.update(dict.fromkeys(inputs, current_place()))
    recorder.layouts_vary |= any(map(_has_layout, inputs))  # each iteration may leave another
    count = len(variables.names)
    after: list[object] = []
    entered: list[object] = []

    def one_iteration() -> Any:
        leaves = iter(inputs)
        values = [instantiate(recorder, kind, leaves) for kind in kinds]
        entered.extend(values)
        variables.write(tuple(values[:count]))
        for obj, state in zip(objects, values[count:], strict=True):
            put_state(recorder, obj, state)
        condition = body()
        after.extend(variables.read())
        return condition

    try:
        recorded = record_block(recorder, one_iteration, repeats=True)
    finally:
        variables.write(before)
    if recorded.value is NOTHING:
        after = [NOTHING] * count
    after += [recorded.state_after(obj) for obj in objects]
    return Round(recorded, inputs, recorded.value, after, entered)


def _has_layout(value: Value) -> bool:
    return isinstance(value.type, TensorType) and len(value.type.shape) > 1


@internal
def _widen(kinds: list[Kind], after: list[object], count: int, fresh: Fresh) -> list[Kind]:
    """The kinds that cover both the way in and the way round."""
    widened = []
    for index, (kind, value) in enumerate(zip(kinds, after, strict=True)):
        if index < count:
            widened.append(widen_growing(merge(kind, describe_value(value, fresh))))
        else:
            widened.append(widen_state(kind, value, fresh))
    return widened


def widen_state(kind: Kind, state: object, fresh: Fresh) -> Kind:
    """The kind of an object's contents that covers `kind` and `state`."""
    if state is NOTHING:
        return kind
    new = describe_state(state, fresh)
    if is_map(kind) and is_map(new):
        kind, new = merge_maps((kind, new))
    elif is_map(kind) or is_map(new):
        kind, new = as_pairs(kind), as_pairs(new)
    return widen_growing(merge(kind, new))


@internal
def _emit_while(
    recorder: Recorder,
    variables: Variables,
    condition: object,
    carried: Carried,
    turn: Round,
) -> None:
    scope, kinds = turn.body.scope, carried.kinds
    after = [with_keys(value, kind) for value, kind in zip(turn.after, kinds, strict=True)]
    if turn.body.value is NOTHING:  # it always raises: what it yields is never seen
        yielded: list[Arg] = list(turn.inputs)
    else:
        yielded = outputs(recorder, scope, after, kinds)
    with recorder.inside(scope):
        again: Arg = False if turn.condition is NOTHING else recorder.arg(turn.condition)
    scope.block.inputs = tuple(turn.inputs)
    scope.block.outputs = (again, *yielded)
    initial: list[Arg] = [recorder.arg(condition)]
    for value, kind in zip(carried.entry, kinds, strict=True):
        initial += whole(recorder, with_keys(value, kind), kind)
    results = [value for kind in kinds for value in new_leaves(recorder, kind)]
    recorder.emit("stator::while", initial, results, blocks=[scope.block])
    leaves = iter(results)
    new = [instantiate(recorder, kind, leaves) for kind in kinds]
    count = len(variables.names)
    variables.write(tuple(new[:count]))
    for obj, state in zip(carried.objects, new[count:], strict=True):
        put_state(recorder, obj, state)


def _never_settles(
    names: tuple[str, ...], carried: Carried, begun: list[Kind], turn: Round
) -> LoopStateChanged:
    kinds = [*begun, *carried.kinds[len(begun) :]]
    at = next(k for k, kind in enumerate(kinds) if kind != carried.kinds[k])
    before, value = kinds[at], turn.after[at]
    if at < len(names):
        name, after = names[at], describe_value(value)
    else:
        obj = carried.objects[at - len(names)]
        name, before, after = _part(name_of_object(obj), obj, before, describe_state(value))
    return LoopStateChanged(
        f"the type of `{name}` changes in every iteration: "
        f"{', then '.join(_successive(before, after))}, and so on",
        fix=f"give `{name}` one dtype, rank and structure before the loop, and keep it",
    )


def _successive(before: Kind, after: Kind) -> list[str]:
    """The first types that a variable has, one iteration after the other."""
    return list(dict.fromkeys([*forms_of(before), *forms_of(after)]))[:3]


def _part(name: str, obj: object, before: Kind, after: Kind) -> tuple[str, Kind, Kind]:
    """The item or the attribute of an object that changes its form, as the user would write it."""
    if not (is_map(before) and is_map(after)):
        return name, before, after
    known = before.named
    for key, item in after.named.items():
        if key in known and merge(known[key], item) != known[key]:
            text = f"{name}[{key!r}]" if isinstance(obj, dict) else f"{name}.{key}"
            return text, known[key], item
    return name, before, after
