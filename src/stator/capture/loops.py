"""capture_while: the body is recorded until the kinds of what it carries no longer change.

A variable starts as exactly what it is before the loop. Where the body leaves something else, its
kind is widened to cover both, and the body is recorded again. What the body leaves as it was is not
carried at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from stator.capture.blocks import (
    BlockRecord,
    changed_objects,
    describe_value,
    outputs,
    put_state,
    record_block,
    refuse_aliases,
    with_keys,
)
from stator.capture.errors.boundary import internal
from stator.capture.errors.variable_names import name_of_object
from stator.capture.flatten import NOTHING, flatten, instantiate, new_leaves
from stator.capture.recorder import Recorder
from stator.errors import LoopStateChanged
from stator.frames import current_place
from stator.program.ir import Arg, Value
from stator.values.contents import state_of
from stator.values.describe import describe_state, name_of
from stator.values.kinds import Fresh, Kind, is_map
from stator.values.merge import as_pairs, merge, merge_maps, widen_tuple_lengths

ROUNDS = 16


class Variables(Protocol):
    """The local names that a loop assigns."""

    names: tuple[str, ...]

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


def capture_while(
    recorder: Recorder,
    variables: Variables,
    condition: object,
    body: Callable[[], object],
) -> None:
    """Record a loop while `condition` holds; `body` runs one trip and gives the next condition."""
    with recorder.joining(variables.names):
        _capture_while(recorder, variables, condition, body)


def _capture_while(
    recorder: Recorder, variables: Variables, condition: object, body: Callable[[], object]
) -> None:
    names = variables.names
    entry = list(variables.read())
    objects: list[object] = []
    kinds: list[Kind] = [describe_value(value) for value in entry]
    for _ in range(ROUNDS):
        turn = _record_round(recorder, variables, kinds, objects, body)
        found = [obj for obj in changed_objects([turn.body]) if not _holds(objects, obj)]
        objects += found
        states = [state_of(obj) for obj in found]
        entry += states
        kinds += [describe_state(state) for state in states]
        after = turn.after + [turn.body.state_after(obj) for obj in found]
        fresh = recorder.provenance.created_since(turn.body.scope)
        refuse_aliases(after, fresh)
        widened = _widen(kinds, after, len(names), fresh)
        settled = widened == kinds and not found  # an object just found is carried next time
        if settled:
            break
        begun, kinds = kinds, widened
    else:
        raise _never_settles(names, objects, _Turn(begun, widened, after))
    _emit_while(recorder, variables, condition, entry, kinds, objects, turn)


def _holds(objects: list[object], obj: object) -> bool:
    return any(obj is other for other in objects)


def _record_round(
    recorder: Recorder,
    variables: Variables,
    kinds: list[Kind],
    objects: list[object],
    body: Callable[[], object],
) -> Round:
    """Record the body once, entered with fresh values of `kinds`."""
    before = variables.read()
    inputs = [value for kind in kinds for value in new_leaves(recorder, kind)]
    recorder.carried.update(dict.fromkeys(inputs, current_place()))
    count = len(variables.names)
    after: list[object] = []

    def one_trip() -> Any:
        leaves = iter(inputs)
        values = [instantiate(recorder, kind, leaves) for kind in kinds]
        variables.write(tuple(values[:count]))
        for obj, state in zip(objects, values[count:], strict=True):
            put_state(recorder, obj, state)
        condition = body()
        after.extend(variables.read())
        return condition

    try:
        recorded = record_block(recorder, one_trip, repeats=True)
    finally:
        variables.write(before)
    if recorded.value is NOTHING:
        after = [NOTHING] * count
    after += [recorded.state_after(obj) for obj in objects]
    return Round(recorded, inputs, recorded.value, after)


@internal
def _widen(kinds: list[Kind], after: list[object], count: int, fresh: Fresh) -> list[Kind]:
    """The kinds that cover both the way in and the way round."""
    widened = []
    for index, (kind, value) in enumerate(zip(kinds, after, strict=True)):
        if index < count:
            widened.append(widen_tuple_lengths(merge(kind, describe_value(value, fresh))))
        else:
            widened.append(_widen_state(kind, value, fresh))
    return widened


def _widen_state(kind: Kind, state: object, fresh: Fresh) -> Kind:
    if state is NOTHING:
        return kind
    new = describe_state(state, fresh)
    if is_map(kind) and is_map(new):
        kind, new = merge_maps((kind, new))
    elif is_map(kind) or is_map(new):
        kind, new = as_pairs(kind), as_pairs(new)
    return widen_tuple_lengths(merge(kind, new))


@internal
def _emit_while(
    recorder: Recorder,
    variables: Variables,
    condition: object,
    entry: list[object],
    kinds: list[Kind],
    objects: list[object],
    turn: Round,
) -> None:
    scope = turn.body.scope
    after = [with_keys(value, kind) for value, kind in zip(turn.after, kinds, strict=True)]
    yielded = outputs(recorder, scope, after, kinds)
    with recorder.inside(scope):
        again: Arg = False if turn.condition is NOTHING else recorder.arg(turn.condition)
    scope.block.inputs = tuple(turn.inputs)
    scope.block.outputs = (again, *yielded)
    initial: list[Arg] = [recorder.arg(condition)]
    for value, kind in zip(entry, kinds, strict=True):
        initial += flatten(recorder, with_keys(value, kind), kind)
    results = [value for kind in kinds for value in new_leaves(recorder, kind)]
    recorder.emit("stator::while", initial, results, blocks=[scope.block])
    leaves = iter(results)
    new = [instantiate(recorder, kind, leaves) for kind in kinds]
    count = len(variables.names)
    variables.write(tuple(new[:count]))
    for obj, state in zip(objects, new[count:], strict=True):
        put_state(recorder, obj, state)


@dataclass
class _Turn:
    """The last round of a loop that does not settle: what is carried, by position."""

    begun: list[Kind]
    widened: list[Kind]
    after: list[Any]


def _never_settles(names: tuple[str, ...], objects: list[object], turn: _Turn) -> LoopStateChanged:
    at = next(k for k, kind in enumerate(turn.begun) if kind != turn.widened[k])
    before, value = turn.begun[at], turn.after[at]
    if at < len(names):
        name, after = names[at], describe_value(value)
    else:
        obj = objects[at - len(names)]
        name, before, after = _part(name_of_object(obj), obj, before, describe_state(value))
    return LoopStateChanged(
        f"`{name}` is {_first_forms(before)} when a trip begins and "
        f"{_first_forms(after)} when it ends, and so on with every trip",
        at=current_place(),
        fix=f"give `{name}` one dtype, rank and structure before the loop, and keep it",
    )


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


def _first_forms(kind: Kind) -> str:
    """`kind` in words; of many alternatives the first few."""
    forms = name_of(kind).split(" or ")
    return " or ".join(forms[:4]) + (f" (and {len(forms) - 4} more)" if len(forms) > 4 else "")
