"""Specializer: captures a program for a call. Which sizes are fixed, which state is an input?

A size is fixed until it changes; then it is dynamic. State that an earlier program has both read
and written becomes an input of the next one, where it can be; what cannot stays fixed for good.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any

from stator.api.concrete import ConcreteProgram, concrete_program, do_effects
from stator.api.program_cache import ProgramCache
from stator.api.reasons import reason_for, sizes_reason
from stator.api.signature import Signature, Sizes
from stator.api.source_function import SourceFunction, Specs
from stator.errors import DemandViolated
from stator.staging.trace import CaptureResult, FailedCapture, attempt
from stator.state.live_lists import makes_demands
from stator.state.live_state import AnySlot, has_open_list, slot_for
from stator.state.slots import Slot
from stator.static.strategy import BuildStrategy


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

    def with_cache(self, cache: ProgramCache) -> Specializer:
        """The same policy, and what it has learned of state, for another cache."""
        other = Specializer(
            self._source, self._input_spec, cache, strategy=self._strategy, backend=self._backend
        )
        other._fixed = self._fixed
        return other

    def program_for(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], signature: Signature
    ) -> ConcreteProgram:
        """A new program for this call, and those like it."""
        sizes, reason = self._sizes_and_reason(signature)
        return self._program(args, kwargs, signature, sizes, reason)

    def size_fallback(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        signature: Signature,
        violated: DemandViolated,
        *,
        exact: bool,
    ) -> ConcreteProgram:
        """A program for a call whose sizes have `violated` a size check of an earlier one.

        With `exact` it holds for these very sizes only.
        """
        earlier = self._cache.alike(signature.key)
        alike = () if exact else tuple(one for one in earlier if one.is_size_fallback)
        sizes, reason = _dynamic_sizes(signature, alike), f"sizes differ: {violated.problem}"
        return self._program(args, kwargs, signature, sizes, reason, is_size_fallback=True)

    def _program(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        signature: Signature,
        sizes: Sizes,
        reason: str,
        *,
        is_size_fallback: bool = False,
    ) -> ConcreteProgram:
        specs = self._source.specs_of_call(args, kwargs, sizes, self._input_spec)
        captured = self._captured(specs, self._cache.alike(signature.key), (args, kwargs))
        return concrete_program(
            captured, specs, reason, signature.key,
            is_size_fallback=is_size_fallback, strategy=self._strategy, backend=self._backend,
        )  # fmt: skip

    def _sizes_and_reason(self, signature: Signature) -> tuple[Sizes, str]:
        """The sizes to capture for, and why it is done at all."""
        earlier = self._cache.alike(signature.key)
        if not earlier:
            names = self._source.parameter_names()
            return signature.sizes, reason_for(signature, self._cache.latest, names)
        changed = earlier[0].captured.guards.reason()
        if changed is not None and earlier[0].holds_for(signature.sizes):
            return earlier[0].sizes, changed
        return _dynamic_sizes(signature, earlier), sizes_reason(signature, earlier[0])

    def _captured(
        self, specs: Specs, earlier: tuple[ConcreteProgram, ...], call: tuple[Any, ...]
    ) -> CaptureResult:
        """A capture; if it ends with the user's error, its changes until then are kept."""
        captured = self._with_state_inputs(specs, earlier)
        if isinstance(captured, FailedCapture):
            do_effects(captured.kept.effects, (), call, captured.kept.classes)
            try:
                raise captured.error
            finally:
                del captured  # it holds the exception, whose traceback holds this frame
        return captured

    def _with_state_inputs(
        self, specs: Specs, earlier: tuple[ConcreteProgram, ...]
    ) -> CaptureResult | FailedCapture:
        """A capture; what an earlier program has changed is an input, if it can be."""
        live = self._state_inputs(earlier)
        source = self._source
        run = functools.partial(
            attempt, source.current(), *specs, name=source.name, owner=source.owner
        )
        if not live:
            return run()
        doubtful = tuple(slot for slot in live if not isinstance(slot, Slot))
        captured: CaptureResult | FailedCapture | None = None
        with contextlib.suppress(Exception):  # Python needs the very value somewhere; if it was
            captured = run(live=live)  # something else, the next attempt raises it again
        if isinstance(captured, CaptureResult):
            if not (any(map(has_open_list, live)) and makes_demands(captured.program)):
                return captured
        elif not doubtful:
            captured = run()
            if isinstance(captured, CaptureResult):
                self._fixed += live
            return captured
        self._fixed += doubtful
        return self._with_state_inputs(specs, earlier)

    def _state_inputs(self, earlier: tuple[ConcreteProgram, ...]) -> tuple[AnySlot, ...]:
        """The state inputs of the last program, and the state that it read and changed."""
        if not earlier:
            return ()
        last = earlier[0].captured
        slots: list[AnySlot] = []
        for wanted in (*last.live, *last.written):
            slot = slot_for(wanted, last.live)
            if slot is not None and not any(map(slot.is_same_place, (*slots, *self._fixed))):
                slots.append(slot)
        return tuple(slots)


def _dynamic_sizes(signature: Signature, earlier: tuple[ConcreteProgram, ...]) -> Sizes:
    """A size that differs from an earlier capture's becomes dynamic."""
    return tuple(
        tuple(
            size if all(e.sizes[k][d] == size for e in earlier) else None
            for d, size in enumerate(shape)
        )
        for k, shape in enumerate(signature.sizes)
    )
