"""Scope: a block while it is recorded; and the `try` bodies that run around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import sympy

from stator.capture.modes import Modes
from stator.program.ir import Block, Value
from stator.program.opset.queries import is_effect, may_raise
from stator.torch_private.trees import WeakTensorKeyDictionary
from stator.values.kinds import Kind
from stator.values.staged import tick


class Scope:
    """A block while it is recorded: what its values represent."""

    def __init__(self, parent: Scope | None, modes: Modes, *, is_function: bool = False) -> None:
        self.parent, self.modes, self.entry_modes = parent, modes, modes
        self.is_function = is_function  # the body of a function of the program
        self.depth: int = 0 if parent is None else 1 if is_function else parent.depth + 1
        self.block = Block()
        self.tensors: Any = WeakTensorKeyDictionary()
        self.symbols: dict[sympy.Symbol, tuple[Value, int | None]] = {}
        self.numbers: dict[object, Value] = {}
        self.assumed: tuple[sympy.Basic, ...] = ()  # conditions that hold from here on
        self.start = tick()

    def defined(self) -> Iterator[Value]:
        """The values that this block has made so far, and its inputs."""
        yield from self.block.inputs
        for op in self.block.ops:
            yield from op.results

    def chain(self) -> Iterator[Scope]:
        """This block and those around it, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    @property
    def root(self) -> Scope:
        """The outermost block that runs with this one: the body of the program or a function."""
        return next(one for one in self.chain() if one.parent is None or one.is_function)

    @property
    def program(self) -> Scope:
        """The body of the program, also where a function of it is recorded."""
        *_, outermost = self.chain()
        return outermost


def may_be_seen(block: Block) -> bool:
    """Does it print, or may it raise?"""
    return any(
        is_effect(op) or may_raise(op) or any(may_be_seen(inner) for inner in op.blocks)
        for op in block.ops
    )


@dataclass(frozen=True)
class TryState:
    """What the names of a `try`, and the objects that it changes, hold where its body may raise.

    The kinds are those of this moment: a list that the body has made may grow later.
    """

    names: tuple[tuple[Any, Kind], ...]
    objects: dict[int, tuple[object, Any, Kind]]  # by id: the object, its state, and its kind


class Attempt:
    """The body of a `try` that runs: as Python, or recorded."""

    def __init__(
        self, catches: Callable[[Exception], bool], read: Callable[[], Any], is_finally: bool
    ) -> None:
        self.catches, self.read, self.is_finally = catches, read, is_finally
        self.is_recorded = False
        self.seen: list[TryState] = []  # where it may raise
        self.keep: Callable[[], None] | None = None  # records what they hold, for the handlers
        self.root: Scope | None = None  # the program or function that it is in
        self.scope: Scope | None = None  # its block
        self.journal: Any = None  # what is noted outside of it
        self.tracks_arguments = False  # does a handler ask for those of what it has caught?
        self.tracks_whole = False  # or for all of it: `arguments` has the exception itself then
        self.asked: tuple[str, ...] = ()  # the attributes that handlers ask for, too
        # (arguments, *attributes) of what the next op raises; None: it has a text only
        self.arguments: tuple[Any, ...] | None = None

    @property
    def waits(self) -> bool:
        """Does a raise in a block of its body mean that it has to be recorded?

        A `finally` is asked afterwards whether anything can be seen of it.
        """
        return not self.is_recorded and not self.is_finally


@dataclass(frozen=True)
class Mark:
    """A point in a block that is being recorded."""

    scope: Scope
    ops: int
    numbers: int
    symbols: int
    modes: Modes
    assumed: tuple[sympy.Basic, ...]
