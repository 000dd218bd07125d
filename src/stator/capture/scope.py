"""Scope: a block while it is recorded; and the `try` bodies and cleanups that run around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import sympy
from torch.utils.weak import WeakTensorKeyDictionary

from stator.capture.modes import Modes
from stator.capture.values import now
from stator.program.ir import Block, Value


class Scope:
    """A block while it is recorded: what its values stand for."""

    def __init__(self, parent: Scope | None, modes: Modes, *, level: int = 0) -> None:
        self.parent, self.modes, self.entry_modes = parent, modes, modes
        self.depth: int = level if parent is None else parent.depth + 1
        self.block = Block()
        self.tensors: Any = WeakTensorKeyDictionary()
        self.symbols: dict[sympy.Symbol, tuple[Value, int | None]] = {}
        self.numbers: dict[object, Value] = {}
        self.start = now()

    def chain(self) -> Iterator[Scope]:
        """This block and those around it, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


# Ops that raise for some values of their inputs: a `try` around one of these is recorded.
MAY_RAISE = (
    "aten::linalg_", "aten::cholesky", "aten::inverse", "aten::index", "aten::select",
    "aten::gather", "aten::embedding", "aten::take", "aten::scatter", "aten::multinomial",
    "stator::raise", "stator::list_get", "stator::list_delete", "stator::call",
    "stator::truediv", "stator::floordiv", "stator::mod", "stator::int",
)  # fmt: skip


class Cleanup:
    """Code that runs whether or not an exception is raised before it."""

    def __init__(self) -> None:
        self.raises = False  # does the program raise inside, where only a run knows?


class Attempt:
    """The body of a `try` that runs: as Python, or recorded."""

    def __init__(self, catches: Callable[[Exception], bool], read: Callable[[], Any]) -> None:
        self.catches, self.read = catches, read
        self.is_recorded = False
        self.seen: list[Any] = []  # what its names held where it may raise
        self.cleanups = 0  # how many cleanups are outside of it


@dataclass(frozen=True)
class Mark:
    """A point in a block that is being recorded."""

    scope: Scope
    ops: int
    numbers: int
    symbols: int
    modes: Modes
