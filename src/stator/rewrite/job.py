"""Job: what every pass is given besides the tree."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from stator.source.facts import Facts
from stator.source.scopes import NameScope
from stator.source.text import Source


class Fresh:
    """Numbered names, the same ones for the same source: `body_1__`, `body_2__`."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def number(self, stem: str) -> int:
        """The next number of `stem`, from 1."""
        self._counts[stem] = self._counts.get(stem, 0) + 1
        return self._counts[stem]

    def name(self, stem: str) -> str:
        """The next name of `stem`."""
        return f"{stem}_{self.number(stem)}__"


@dataclass(frozen=True)
class Job:
    """One function on its way through the passes."""

    source: Source
    original: NameScope  # the names of the function before any pass
    first_parameter: str | None  # what a bare `super()` takes as its second argument
    unsure_outside: frozenset[str]  # free names that the functions around may leave undefined
    fresh: Fresh = field(default_factory=Fresh)
    known: Facts | None = None

    @property
    def facts(self) -> Facts:
        """The facts of the tree, which exist once its jumps are lowered."""
        assert self.known is not None
        return self.known

    def declare(self, names: Iterable[str]) -> list[ast.stmt]:
        """The declarations that a nested function assigning `names` needs."""
        ordered = tuple(sorted({*names}))
        scope = self.facts.scope
        outer = [name for name in ordered if name in scope.globals]
        here = [n for n in ordered if n in scope.locals or n in scope.nonlocals]
        declared: list[ast.stmt] = [ast.Nonlocal(here)] if here else []
        return [*declared, ast.Global(outer)] if outer else declared
