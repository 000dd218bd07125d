"""Effects: what a call does to Python objects, which every run of its program does again.

After a run that ends well, all of it is done; after one that raises, what was done until then.
So before each op that may raise, a note says what has been changed so far.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import torch

from stator.capture.flatten import list_of
from stator.capture.inputs import Argument, Inputs
from stator.capture.listeners import Listener
from stator.capture.raising import structure_of_error
from stator.capture.results import Results
from stator.errors import StatorError
from stator.location import Location
from stator.program.ir import Arg, Op
from stator.program.structure import Choice, ConstantValue, Mapping, Structure, positions_in
from stator.state.holding import holding, reference, weakly
from stator.state.live_lists import ListSlot
from stator.state.live_state import AnySlot
from stator.state.live_trees import HeldContainer
from stator.state.saved_state import OWN_STATE, StateRecorder
from stator.state.session import Session
from stator.state.slots import Slot
from stator.values.containers import in_order
from stator.values.contents import same_state, state_of
from stator.values.staged import Columns
from stator.values.symbolic import Moving
from stator.values.union import Symbolic, maybe_absent

Origin = Argument | HeldContainer


@holding(target=weakly)
@dataclass(frozen=True)
class Effect:
    """What a call does to a Python object: its contents become `state`."""

    target: Any  # the object; or where each call finds its own
    state: Structure
    deleted: tuple[Any, ...] = ()
    absent: tuple[Any, ...] = ()  # deleted as well, where `state` does not have them
    place: Location | None = None  # the line that first wrote to it

    def deleted_from(self, state: object) -> tuple[object, ...]:
        """What goes, where a run has found `state`."""
        if not self.absent or not isinstance(state, dict):
            return self.deleted
        return (*self.deleted, *(key for key in self.absent if key not in state))


def new_results(session: Session) -> Results:
    """An empty table of what the program gives back."""
    return Results(session.recorder, session.provenance.is_external, session.stand_ins.original)


def effects_of(
    session: Session, inputs: Inputs, results: Results, live: tuple[AnySlot, ...]
) -> tuple[Effect, ...]:
    """What the call has changed outside: attributes, cells, globals, lists and dicts it has."""
    effects = []
    results.stays = True

    def is_seen(obj: object) -> bool:
        is_given = id(obj) in inputs.containers or session.state_inputs.finder_of(obj) is not None
        return is_given or not session.is_local(obj)

    for obj, before in (
        *session.journal.changed_so_far(only=is_seen),
        *_set_to_what_the_capture_found(session),
    ):
        target = session.stand_ins.original(obj)
        if id(obj) in inputs.containers:
            target = Argument(inputs.containers[id(obj)][1])
        elif (finder := session.state_inputs.finder_of(obj)) is not None:
            if finder is OWN_STATE:
                continue
            target = finder
        else:
            reread = [slot.key for slot in live if slot.owner is obj]
            _watch_kept(session, obj, before, reread)
        place = session.journal.place_of(obj)
        if isinstance(obj, Moving):
            effects.append(Effect(obj.native, results.structure_of(obj.moved()), place=place))
            continue
        before = _with_installed(session, obj, before)
        effect = _effect(obj, target, before, results)
        if effect is not None:
            effects.append(replace(effect, place=place))
    _watch_written(session)
    return tuple(effects)


def _set_to_what_the_capture_found(session: Session) -> Iterator[tuple[object, object]]:
    """Objects that look as before, but hold a constant where each call brings its own value."""
    written = {id(obj) for obj, _ in session.writes.values()}
    changed = session.journal.changed_so_far(only=lambda obj: id(obj) in written)
    seen = {id(obj) for obj, _ in changed}
    for obj, key in session.writes.values():
        installed = session.state_inputs.values_in(obj)
        if id(obj) in seen or key not in installed:
            continue
        state = state_of(obj)
        if isinstance(state, dict) and not same_state((state.get(key),), (installed[key],)):
            seen.add(id(obj))
            yield obj, session.journal.state_before(obj)


def _watch_written(session: Session) -> None:
    """What the call has set to what it was before is no effect, as long as it is that before."""
    for obj, key in session.writes.values():
        state = state_of(obj)
        before = session.journal.state_before(obj)
        if session.is_local(obj) or not isinstance(state, dict) or not isinstance(before, dict):
            continue
        if key in session.state_inputs.values_in(obj):
            continue
        if key in state and key in before and same_state((state[key],), (before[key],)):
            session.reads.read_slot(obj, key, before[key])
        elif key not in state and key not in before and not isinstance(obj, dict):
            # it was set and deleted: a call that finds it must delete it
            session.reads.watch(
                obj, ("absent", key), functools.partial(_has_slot, reference(obj), key), False,
                f"attribute {key}",
            )  # fmt: skip


def _has_slot(finder: Callable[[], object], key: object) -> bool:
    state = state_of(finder())
    return isinstance(state, dict) and key in state


def given_back(
    session: Session, inputs: Inputs, results: Results
) -> tuple[tuple[Structure, Origin], ...]:
    """The containers in the results that are the caller's: the very ones are given back."""
    found: list[tuple[Structure, Origin]] = []
    for obj, structure in results.containers.values():
        if id(obj) in inputs.containers:
            found.append((structure, Argument(inputs.containers[id(obj)][1])))
        elif (finder := session.state_inputs.finder_of(obj)) not in (None, OWN_STATE):
            found.append((structure, finder))
    return tuple(found)


def _with_installed(session: Session, obj: object, before: object) -> Any:
    """What `obj` was when user code began: with the symbolic values that represent live state."""
    if not isinstance(before, dict):
        return before
    return before | session.state_inputs.values_in(obj)


def _watch_kept(session: Session, obj: object, before: Any, reread: Sequence[object]) -> None:
    """What some paths leave as it was is read: the program gives it back on those paths.

    What every run reads again (`reread`) needs no watching.
    """
    state = state_of(obj)
    if not isinstance(state, dict):
        return
    for key, value in state.items():
        if key not in before and maybe_absent(value):
            session.reads.watch_absent(obj, key)
        old = before.get(key, value)
        changed = key not in reread and not same_state((value,), (old,))
        if changed and _is_joined(session, value):
            session.reads.read_slot(obj, key, old)


def _is_joined(session: Session, value: object) -> bool:
    """Does `value` come out of a branch or a loop, so that it may be what it was before?"""
    if not isinstance(value, torch.Tensor):
        return isinstance(value, Symbolic)
    found = session.recorder.find(value)
    return any(
        op.blocks and any(result is found for result in op.results)
        for scope in session.recorder.scope.chain()
        for op in scope.block.ops
    )


def written_slots(session: Session) -> tuple[AnySlot, ...]:
    """The places whose contents the run has read and replaced."""
    slots: list[AnySlot] = []
    for obj, before in session.journal.changed():
        state, plain = state_of(obj), session.stand_ins.original(obj)
        if plain is not obj and not isinstance(plain, set | dict):
            slots.append(ListSlot(plain))
        if isinstance(state, dict) and not session.is_local(obj):
            slots += [
                Slot(obj, key)
                for key, value in state.items()
                if key in before
                and not same_state((value,), (before[key],))
                and session.reads.has_read(obj, key, before[key])
            ]
    return tuple(slots)


def _effect(
    obj: object,
    target: object,
    before: Any,
    results: Results,
) -> Effect | None:
    state = state_of(obj)
    if isinstance(state, Columns):
        return Effect(target, results.structure_of(list_of(Columns(state.item, state.values))))
    if isinstance(state, frozenset):
        return Effect(target, results.structure_of(list(in_order(state))))
    if not isinstance(state, dict):
        return Effect(target, results.structure_of(list(state)))
    moved = _moved(before, state)
    changed = {
        key: value
        for key, value in state.items()
        if key in moved or key not in before or not same_state((value,), (before[key],))
    }
    deleted = tuple(key for key in before if key not in state or key in moved)
    absent = tuple(key for key in changed if key in before and maybe_absent(changed[key]))
    if not changed and not deleted:
        return None
    return Effect(target, results.structure_of(changed), deleted, absent)


def _moved(before: dict[Any, Any], state: dict[Any, Any]) -> frozenset[Any]:
    """The keys that were there before, and are now behind others: they are set again, in order."""
    in_place = [key for key in before if key in state]
    expected = in_place + [key for key in state if key not in before]
    pairs = enumerate(zip(state, expected, strict=True))
    first = next((k for k, (key, other) in pairs if key != other), len(expected))
    return frozenset(key for key in list(state)[first:] if key in before)


class KeptEffects(NamedTuple):
    """What a call had changed when it raised, and the classes of what it holds."""

    effects: tuple[Effect, ...]
    classes: dict[str, type]
    error: Structure  # the exception: undoing the call takes its attributes away

    @property
    def is_known(self) -> bool:
        """Is the exception known without a run?"""
        return not list(positions_in(self.error))


@dataclass
class EffectRecorder(Listener):
    """Records, before each op that may raise, the external effects of the call so far."""

    session: Session
    inputs: Inputs
    live: tuple[AnySlot, ...]
    effects: list[tuple[Effect, ...]] = field(default_factory=list)
    classes: dict[str, type] = field(default_factory=dict)
    kept: KeptEffects | None = None  # where the capture ends with the user's own error
    saved: StateRecorder | None = None  # of a program that is to be saved
    _busy: bool = False

    def __post_init__(self) -> None:
        self.top = self.session.recorder.scope

    def before(self, op: Op, *, may_raise: bool) -> None:
        """Record the pending external effects, unless one of them has no program form.

        Where the user's own `raise` ends the run, it would be lost: refused.
        """
        recorder = self.session.recorder
        if not may_raise or self._busy or recorder.scope.root is not self.top:
            return
        self._busy = True
        mark = recorder.mark()
        try:
            found, results = self.so_far()
            if self.saved is not None:
                recorder.rewind(mark)
                self.effects.append(found)  # to know what may be left changed
                self.saved.note()
            elif found or self.effects:  # no effects: the previous entry has to be replaced too
                number: dict[str, Arg] = {"effects": len(self.effects)}
                recorder.emit("host::note", tuple(results.leaves), attributes=number)
                self.effects.append(found)
                self.classes |= results.classes
        except StatorError:
            recorder.rewind(mark)
            if op.name == "stator::raise" and not recorder.attempts:
                raise
        finally:
            self._busy = False

    def forget(self, start: int, restored: Sequence[tuple[object, Sequence[object]]]) -> None:
        """Drop `restored` objects from the entries from number `start` on.

        Each comes with the keys that are restored; no keys mean the whole object.
        """
        for number in range(start, len(self.effects)):
            for obj, keys in restored:
                target = self.session.stand_ins.original(obj)
                left = [
                    effect if effect.target is not target else _without(effect, keys)
                    for effect in self.effects[number]
                    if effect.target is not target or keys
                ]
                self.effects[number] = tuple(effect for effect in left if not _is_empty(effect))

    def so_far(self) -> tuple[tuple[Effect, ...], Results]:
        """The external effects of the call so far."""
        session = self.session
        results = new_results(session)
        return effects_of(session, self.inputs, results, self.live), results

    def keep(self, error: Exception) -> None:
        """The capture ends with `error`, the user's own: keep it, and the effects so far.

        Only those whose values are known without a run are kept. A change that a program cannot
        make is refused: it would be lost.
        """
        structure, classes = self._structure_of(error)
        found, results = self.so_far()
        kept = tuple(filter(None, map(_known, found)))
        self.kept = KeptEffects(kept, results.classes | classes, structure)

    def _structure_of(self, error: Exception) -> tuple[Structure, dict[str, type]]:
        """What `error` is after the capture; itself, if undoing the call does not change it."""
        try:
            structure, results = structure_of_error(self.session.recorder, error)
        except StatorError:
            if self.session.journal.has_noted(error):
                raise
            return ConstantValue(error), {}
        return structure, results.classes


def _is_empty(effect: Effect) -> bool:
    return effect.state == Mapping((), ()) and not effect.deleted


def _without(effect: Effect, keys: Sequence[object]) -> Effect:
    deleted = tuple(key for key in effect.deleted if key not in keys)
    absent = tuple(key for key in effect.absent if key not in keys)
    return replace(effect, state=_without_keys(effect.state, keys), deleted=deleted, absent=absent)


def _without_keys(state: Structure, keys: Sequence[object]) -> Structure:
    """The state of an object but for `keys`; where some are set on some paths only, in each way."""
    if isinstance(state, Choice):
        ways = tuple(_without_keys(one, keys) for one in state.alternatives)
        return Choice(state.tag, ways)
    assert isinstance(state, Mapping)
    left = {k: v for k, v in zip(state.keys, state.items, strict=True) if k not in keys}
    return Mapping(tuple(left), tuple(left.values()))


def _known(effect: Effect) -> Effect | None:
    """The part of an effect that needs no value of a run."""
    if not list(positions_in(effect.state)):
        return effect
    if not isinstance(effect.state, Mapping):
        return None
    pairs = zip(effect.state.keys, effect.state.items, strict=True)
    left = {key: item for key, item in pairs if not list(positions_in(item))}
    if not left and not effect.deleted:
        return None
    return replace(effect, state=Mapping(tuple(left), tuple(left.values())))
