"""ProgramCache: the programs of one function, by the signature of the calls they hold for."""

from __future__ import annotations

from typing import Any

from stator.api.concrete import ConcreteProgram
from stator.api.entries import MISS, Entry, entry_for
from stator.api.signature import Signature

ENTRIES_KEPT = 4
ENTRY_LIMIT = 64  # calls whose kinds never settle gain nothing from entries
Key = tuple[Any, ...]


class ProgramCache:
    """Finds the program that holds for a call."""

    def __init__(self, programs: tuple[ConcreteProgram, ...] = ()) -> None:
        self._by_key: dict[Key, tuple[ConcreteProgram, ...]] = {}
        self._in_order: list[ConcreteProgram] = []
        for program in programs:
            self.add(program)

    def add(self, program: ConcreteProgram) -> None:
        """Keep `program`; it is tried before those that came earlier."""
        self._by_key[program.key] = (program, *self.alike(program.key))
        self._in_order.append(program)

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
            if program.holds_for(signature.sizes) and program.captured.guards.hold():
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


class EntryTable:
    """The short ways in, for calls like some that came before: see `api.entries`."""

    def __init__(self) -> None:
        self.entries: tuple[Entry, ...] = ()  # the latest first; replaced, never changed
        self.made = 0

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the call gives; MISS if no entry takes it."""
        for enter in self.entries:
            result = enter(args, kwargs)
            if result is not MISS:
                return result
        return MISS

    def add(self, program: ConcreteProgram, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """The next call like this one takes the short way."""
        if self.made < ENTRY_LIMIT:
            entry = entry_for(program, args, kwargs)
            if entry is not None:
                self.made += 1
                self.entries = (entry, *self.entries[: ENTRIES_KEPT - 1])
