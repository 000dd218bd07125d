"""Scope: a block while it is recorded; and the `try` bodies that run around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import sympy
from torch.utils.weak import WeakTensorKeyDictionary

from stator.capture.modes import Modes
from stator.capture.values import now
from stator.program.ir import Block, Op, Value
from stator.program.ops import EFFECTS, MATH_OPS
from stator.program.types import OptionalType, TensorType


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


# Ops that raise for some values of their inputs: a `try` around one of these is recorded.
MAY_RAISE = (
    "aten::linalg_", "aten::cholesky", "aten::inverse", "aten::index", "aten::select",
    "aten::gather", "aten::embedding", "aten::take", "aten::scatter", "aten::multinomial",
    "aten::stack", "aten::cat", "stator::raise", "stator::reraise", "stator::list_get",
    "stator::list_delete", "stator::list_set", "stator::list_pop", "stator::list_order",
    "stator::list_tensor", "stator::call", "stator::truediv",
    "stator::floordiv", "stator::mod", "stator::pow", "stator::lshift", "stator::rshift",
    "stator::int", "stator::format", *(f"stator::{name}" for name in MATH_OPS),
)  # fmt: skip
READS_ONE = ("aten::item", "aten::is_nonzero")


def may_raise(op: Op) -> bool:
    """Does `op` itself raise for some values of its inputs?"""
    if op.name.startswith(READS_ONE):
        tensor = op.args[0]
        kind = tensor.type if isinstance(tensor, Value) else None
        kind = kind.element if isinstance(kind, OptionalType) else kind
        return isinstance(kind, TensorType) and any(size != 1 for size in kind.shape)
    return op.name.startswith(MAY_RAISE)


def may_be_seen(block: Block) -> bool:
    """Does it print, or may it raise?"""
    return any(
        op.name in EFFECTS or may_raise(op) or any(may_be_seen(inner) for inner in op.blocks)
        for op in block.ops
    )


class Attempt:
    """The body of a `try` that runs: as Python, or recorded."""

    def __init__(self, catches: Callable[[Exception], bool], read: Callable[[], Any]) -> None:
        self.catches, self.read = catches, read
        self.is_recorded = False
        self.seen: list[Any] = []  # what its names, and objects, held where it may raise
        self.keep: Callable[[], None] | None = None  # records what they hold, for the handlers
        self.root: Scope | None = None  # the program or function that it stands in
        self.scope: Scope | None = None  # its block
        self.journal: Any = None  # what is noted outside of it


@dataclass(frozen=True)
class Mark:
    """A point in a block that is being recorded."""

    scope: Scope
    ops: int
    numbers: int
    symbols: int
    modes: Modes
