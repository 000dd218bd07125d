"""ProgramCache: the programs of one function, by the signature of the calls they hold for."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from stator.api.concrete import ConcreteProgram
from stator.api.signature import Signature

PROGRAMS_KEPT = 64  # of one function; beyond that, the least recently used one is dropped
Key = tuple[Any, ...]


class ProgramCache:
    """Finds the program that holds for a call."""

    def __init__(self, programs: tuple[ConcreteProgram, ...] = ()) -> None:
        self._by_key: dict[Key, tuple[ConcreteProgram, ...]] = {}
        self._in_order: list[ConcreteProgram] = []
        self._last_use: dict[int, int] = {}  # by id: the number of the call that found it last
        self._calls = 0
        for program in programs:
            self.add(program)

    def add(self, program: ConcreteProgram) -> None:
        """Keep `program`; it is tried before those that came earlier."""
        self._used(program)
        self._by_key[program.key] = (program, *self.alike(program.key))
        self._in_order.append(program)

    def drop(self, programs: Collection[ConcreteProgram]) -> None:
        """Forget `programs`: others serve their calls, or they are used too rarely."""
        gone = set(map(id, programs))
        for key in {program.key for program in programs}:
            left = tuple(one for one in self.alike(key) if id(one) not in gone)
            if left:
                self._by_key[key] = left
            else:
                self._by_key.pop(key, None)
        self._in_order = [one for one in self._in_order if id(one) not in gone]
        for ident in gone:
            self._last_use.pop(ident, None)

    def unused(self) -> tuple[ConcreteProgram, ...]:
        """The programs beyond the limit: those that no call has found for the longest time."""
        count = len(self._in_order) - PROGRAMS_KEPT
        by_use = sorted(self._in_order, key=lambda one: self._last_use[id(one)])
        return tuple(by_use[:count]) if count > 0 else ()

    def _used(self, program: ConcreteProgram) -> None:
        self._calls += 1
        self._last_use[id(program)] = self._calls

    def alike(self, key: Key) -> tuple[ConcreteProgram, ...]:
        """The programs for calls with this key, whatever the sizes; the latest first."""
        return self._by_key.get(key, ())

    def find(
        self, signature: Signature, *, after_violation: bool = False
    ) -> ConcreteProgram | None:
        """The latest program that holds for a call with this signature.

        After the violation of a size check, those that were captured for one come first.
        """
        known = self.alike(signature.key)
        if after_violation:
            known = tuple(sorted(known, key=lambda one: not one.is_size_fallback))
        for program in known:
            if (
                program.holds_for(signature.sizes)
                and program.is_for(signature.leaves)
                and program.captured.guards.hold()
            ):
                self._used(program)
                return program
        return None

    def all(self) -> tuple[ConcreteProgram, ...]:
        """Everything captured so far, in order."""
        return tuple(self._in_order)

    @property
    def latest(self) -> ConcreteProgram | None:
        """The program of the last capture."""
        return self._in_order[-1] if self._in_order else None

    def __len__(self) -> int:
        return len(self._in_order)
