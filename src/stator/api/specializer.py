"""Specializer: captures a program for a call. Which sizes are fixed, which state is an input?

A size, a number or a string among the arguments is fixed until it changes; then it is open. State
that has changed since an earlier program read it becomes an input of the next one. What cannot be
open or an input, because Python needs it, stays fixed for good: there is a program for each value.
"""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from stator.api.concrete import ConcreteProgram, concrete_program, do_effects
from stator.api.program_cache import ProgramCache
from stator.api.reasons import reason_for, sizes_reason
from stator.api.signature import Signature, Sizes
from stator.api.source_function import SourceFunction, Specs
from stator.errors import SizeCheckFailed
from stator.execute.structure import unflatten
from stator.frames import without_frames
from stator.garbage import fewer_collections
from stator.recursion_limit import more_frames
from stator.staging.trace import CaptureResult, FailedCapture, attempt
from stator.state.live_lists import makes_demands
from stator.state.live_modules import ModuleSlot
from stator.state.live_state import AnySlot, has_open_list, slot_for, with_open_items
from stator.state.live_tensors import PlaceChange, ReplacedSlot, changes
from stator.state.slots import Slot
from stator.static.strategy import BuildStrategy
from stator.values.exceptions import adopt

Call = tuple[tuple[Any, ...], dict[str, Any]]
Position = tuple[int, int]  # a leaf of a call, and one of its sizes
MOST_TRIALS = 6  # captures with one more size open each
OTHER_LENGTHS = "it was called with lists of other lengths"
TEXTS_KEPT = 2  # strings are often modes: there are programs for so many before one for all


class Specializer:
    """Makes the programs of one function, from what `cache` holds already."""

    def __init__(
        self,
        source: SourceFunction,
        input_spec: Any,
        cache: ProgramCache,
        *,
        strategy: BuildStrategy | None = None,
        backend: str | None = None,
    ) -> None:
        self._source, self._input_spec, self._cache = source, input_spec, cache
        self._strategy, self._backend = strategy, backend
        self._fixed: tuple[AnySlot, ...] = ()  # state that cannot be an input of the program
        self._closed: dict[Any, frozenset[Position]] = {}  # by key: sizes that cannot be open

    def with_cache(self, cache: ProgramCache) -> Specializer:
        """The same policy, and what it has learned of state, for another cache."""
        other = Specializer(
            self._source, self._input_spec, cache, strategy=self._strategy, backend=self._backend
        )
        other._fixed, other._closed = self._fixed, dict(self._closed)
        return other

    def program_for(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], signature: Signature
    ) -> ConcreteProgram:
        """A new program for this call, and those like it."""
        call = (args, kwargs)
        sizes, reason = self._sizes_and_reason(signature, call)
        return self._program(call, signature, sizes, reason)

    def program_for_lists(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], signature: Signature
    ) -> ConcreteProgram | None:
        """A program for lists of any length in this call; None if it could refuse some sizes."""
        earlier = self._cache.alike(signature.key)
        sizes = self._open_sizes(signature, earlier) if earlier else signature.sizes
        for wanted in dict.fromkeys((sizes, signature.sizes)):
            with self._trial(), fewer_collections(), more_frames():
                captured, specs = self._captured(
                    (args, kwargs), signature, wanted, keep_effects=False
                )
                if not makes_demands(captured.program):
                    return concrete_program(
                        captured, specs, OTHER_LENGTHS, signature.key,
                        strategy=self._strategy, backend=self._backend,
                    )  # fmt: skip
        return None

    def size_fallback(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        signature: Signature,
        violated: SizeCheckFailed,
        *,
        exact: bool,
    ) -> ConcreteProgram:
        """A program for a call whose sizes have `violated` a size check of an earlier one.

        With `exact` it holds for these very sizes only.
        """
        earlier = self._cache.alike(signature.key)
        alike = () if exact else tuple(one for one in earlier if one.is_size_fallback)
        sizes, reason = self._open_sizes(signature, alike), f"sizes differ: {violated.problem}"
        return self._program((args, kwargs), signature, sizes, reason, is_size_fallback=True)

    def superseded(self, made: ConcreteProgram) -> tuple[ConcreteProgram, ...]:
        """The programs that keep a tensor alive in whose place `made` takes any."""
        held = [slot.read() for slot in made.captured.live]
        now = {id(value) for value in held if not isinstance(value, int | float | str)}
        if not now:
            return ()
        return tuple(
            one
            for one in self._cache.all()
            if one is not made
            and any(id(change.now) in now for change in _changed_by_others(one.captured))
        )

    def _program(
        self,
        call: Call,
        signature: Signature,
        sizes: Sizes,
        reason: str,
        *,
        is_size_fallback: bool = False,
    ) -> ConcreteProgram:
        prepare = functools.partial(
            concrete_program, reason=reason, key=signature.key, is_size_fallback=is_size_fallback,
            strategy=self._strategy, backend=self._backend,
        )  # fmt: skip
        wanted = _open_positions(sizes)
        try:
            with fewer_collections(), more_frames():
                return prepare(*self._as_open_as_can_be(call, signature, sizes))
        except RecursionError:  # a choice among very many values is nested too deeply
            if not wanted:
                raise
        made = prepare(*self._captured(call, signature, signature.sizes))
        known = self._closed.get(signature.key, frozenset())
        self._closed[signature.key] = known | wanted
        return made

    # ---- sizes, numbers and strings of the arguments

    def _sizes_and_reason(self, signature: Signature, call: Call) -> tuple[Sizes, str]:
        """The sizes to capture for, and why it is done at all."""
        earlier = self._cache.alike(signature.key)
        names = self._source.parameter_names()
        if not earlier:
            return signature.sizes, reason_for(signature, self._cache.latest, names)
        latest = earlier[0]
        if latest.holds_for(signature.sizes) and latest.is_for(signature.leaves):
            changed = latest.captured.guards.reason()  # a guard may use a cache of the caller's
            if changed is not None:
                return latest.sizes, changed
        open_sizes = self._open_sizes(signature, earlier)
        return open_sizes, sizes_reason(signature, earlier[0], call, names)

    def _open_sizes(self, signature: Signature, earlier: tuple[ConcreteProgram, ...]) -> Sizes:
        """The sizes of a call; one that differs from an earlier capture's becomes open."""
        closed = self._closed.get(signature.key, frozenset())
        opened = {
            (k, d)
            for k, shape in enumerate(signature.sizes)
            for d, size in enumerate(shape)
            if (k, d) not in closed
            and _may_open(signature.leaves[k], size, [one.sizes[k][d] for one in earlier])
        }
        return _with_open(signature.sizes, opened)

    def _as_open_as_can_be(
        self, call: Call, signature: Signature, sizes: Sizes
    ) -> tuple[CaptureResult, Specs]:
        """A capture with open `sizes`; where Python needs some of them, they are fixed."""
        wanted = _open_positions(sizes)
        if not wanted:
            return self._captured(call, signature, sizes)
        with self._trial():
            return self._captured(call, signature, sizes, keep_effects=False)
        found = self._one_by_one(call, signature, wanted)
        if found is None:
            found = frozenset(), self._captured(call, signature, signature.sizes)
        left, made = found
        known = self._closed.get(signature.key, frozenset())
        self._closed[signature.key] = known | (wanted - left)
        return made

    @contextlib.contextmanager
    def _trial(self) -> Iterator[None]:
        """A capture inside may fail: a later one raises what is wrong in any case."""
        fixed = self._fixed
        try:
            yield
        except Exception as error:  # noqa: BLE001
            self._fixed = fixed
            without_frames(error)

    def _one_by_one(
        self, call: Call, signature: Signature, wanted: frozenset[Position]
    ) -> tuple[frozenset[Position], tuple[CaptureResult, Specs]] | None:
        """A capture with as many of the `wanted` positions as can be open together."""
        earlier = self._cache.alike(signature.key)
        known = frozenset(
            (k, d) for k, d in wanted if any(one.sizes[k][d] is None for one in earlier)
        )
        opened: frozenset[Position] = frozenset()
        best: tuple[CaptureResult, Specs] | None = None
        for group in _groups(known, wanted - known):
            if opened | group == wanted:
                continue  # that has failed already
            sizes = _with_open(signature.sizes, opened | group)
            with self._trial():
                best = self._captured(call, signature, sizes, keep_effects=False)
                opened |= group
        return None if best is None else (opened, best)

    def _captured(
        self, call: Call, signature: Signature, sizes: Sizes, *, keep_effects: bool = True
    ) -> tuple[CaptureResult, Specs]:
        """A capture; if it ends with the user's error, its changes until then are kept."""
        specs = self._source.specs_of_call(*call, sizes, self._input_spec)
        captured = self._with_state_inputs(specs, self._cache.alike(signature.key))
        if isinstance(captured, FailedCapture):
            if keep_effects:
                do_effects(captured.kept.effects, (), call, captured.kept.classes)
            adopt(captured.error, unflatten(captured.kept.error, (), classes=captured.kept.classes))
            try:
                raise captured.error
            finally:
                del captured  # it holds the exception, whose traceback holds this frame
        return captured, specs

    # ---- state

    def _with_state_inputs(
        self, specs: Specs, earlier: tuple[ConcreteProgram, ...]
    ) -> CaptureResult | FailedCapture:
        """A capture; what has changed since an earlier program is an input, if it can be."""
        live = self._state_inputs(earlier)
        source = self._source
        run = functools.partial(
            attempt, source.current(), *specs, name=source.name, owner=source.owner
        )
        if not live:
            return run()
        wider = with_open_items(live)
        for wanted in (live,) if all(map(operator.is_, wider, live)) else (live, wider):
            captured = self._usable(run, wanted)
            if captured is not None:
                return captured
        return self._with_fewer(run, live, earlier, specs)

    def _usable(self, run: Any, live: tuple[AnySlot, ...]) -> CaptureResult | None:
        """A capture with the inputs `live`; None if it fails, or could refuse some lengths."""
        try:
            captured = run(live=live)
        except Exception as error:  # noqa: BLE001  Python needs the very value somewhere; if it was
            without_frames(error)  # something else, the next attempt raises it again
            return None
        if isinstance(captured, FailedCapture):
            return None
        refuses = any(map(has_open_list, live)) and makes_demands(captured.program)
        return None if refuses else captured

    def _with_fewer(
        self,
        run: Any,
        live: tuple[AnySlot, ...],
        earlier: tuple[ConcreteProgram, ...],
        specs: Specs,
    ) -> CaptureResult | FailedCapture:
        """A capture without the most doubtful of the state inputs `live`, which failed."""
        for doubtful in (
            tuple(slot for slot in live if not isinstance(slot, Slot | ReplacedSlot)),
            self._newly_live(live, earlier),
        ):
            if doubtful and doubtful != live:
                self._fixed += doubtful
                return self._with_state_inputs(specs, earlier)
        captured: CaptureResult | FailedCapture = run()
        if isinstance(captured, CaptureResult):
            self._fixed += live
        return captured

    def _newly_live(
        self, live: tuple[AnySlot, ...], earlier: tuple[ConcreteProgram, ...]
    ) -> tuple[AnySlot, ...]:
        known = earlier[0].captured.live if earlier else ()
        return tuple(slot for slot in live if not any(map(slot.is_same_place, known)))

    def _state_inputs(self, earlier: tuple[ConcreteProgram, ...]) -> tuple[AnySlot, ...]:
        """The state inputs of the last program, what it changed, and what others have changed."""
        if not earlier:
            return ()
        last = earlier[0].captured
        changed = [
            ModuleSlot(change.slot) if isinstance(change.now, torch.nn.Module) else change.slot
            for change in changes(last.guards.reads)
            if _may_be_input(change, earlier)
        ]
        slots: list[AnySlot] = []
        for wanted in (*last.live, *last.written, *changed):
            slot = slot_for(wanted, (*last.live, *changed))
            if slot is None or any(map(slot.is_same_place, (*slots, *self._fixed))):
                continue
            if not (isinstance(slot, ReplacedSlot) and _is_leaf_of(slot.read(), slots)):
                slots.append(slot)
        return tuple(slots)


def _may_be_input(change: PlaceChange, earlier: Sequence[ConcreteProgram]) -> bool:
    """Is it worth it? A module must have been replaced twice: it is compared before each call."""
    if isinstance(change.now, str):
        return len(earlier) >= TEXTS_KEPT
    if not isinstance(change.now, torch.nn.Module):
        return True
    others = (one.captured.guards.reads for one in earlier[1:])
    return type(change.now) is type(change.before) and any(
        other.now is change.now for reads in others for other in changes(reads)
    )


def _is_leaf_of(tensor: object, slots: Sequence[AnySlot]) -> bool:
    """Is `tensor` in a container that is read as a whole?"""
    leaves = [leaf for slot in slots for leaf in slot.leaves()]
    return any(
        tensor is part
        for leaf in leaves
        for part in (leaf if isinstance(leaf, list) else (leaf,))
    )  # fmt: skip


def _changed_by_others(captured: CaptureResult) -> Iterator[PlaceChange]:
    """What has changed since the capture, but for what the program itself changes."""
    for change in changes(captured.guards.reads):
        if not any(map(change.slot.is_same_place, captured.written)):
            yield change


def _may_open(leaf: object, size: Any, others: list[Any]) -> bool:
    if None in others:
        return True
    different = len({other for other in others if other != size})
    return different >= (TEXTS_KEPT if isinstance(leaf, str) else 1)


def _open_positions(sizes: Sizes) -> frozenset[Position]:
    return frozenset(
        (k, d) for k, shape in enumerate(sizes) for d, size in enumerate(shape) if size is None
    )


def _with_open(sizes: Sizes, opened: Iterable[Position]) -> Sizes:
    chosen = set(opened)
    return tuple(
        tuple(None if (k, d) in chosen else size for d, size in enumerate(shape))
        for k, shape in enumerate(sizes)
    )


def _groups(known: frozenset[Position], new: frozenset[Position]) -> Iterator[frozenset[Position]]:
    """What to try to open together: what was open before, then one after the other.

    Where there are many, all sizes of a leaf are tried together.
    """
    if known:
        yield known
    if len(new) <= MOST_TRIALS:
        yield from (frozenset({position}) for position in sorted(new))
        return
    for leaf in sorted({k for k, _ in new}):
        yield frozenset((k, d) for k, d in new if k == leaf)
