"""Entries: the short way into a program, for calls like one that came before.

A call is like an earlier one when its arguments are tensors of the same kinds and nothing else has
changed. The extension checks that, and runs the program (`runtime/python/entry.cpp`); a call that
it does not know takes the long way, by its signature. Without the extension, every call does.
"""

from __future__ import annotations

from typing import Any

import torch

from stator.api.concrete import ConcreteProgram
from stator.execute.backend import direct_run
from stator.extension import extension
from stator.program.structure import Leaf, Sequence, Structure
from stator.torch_private.checks import count_function_modes

MISS = object()
ENTRIES_KEPT = 4
ENTRY_LIMIT = 64  # calls whose kinds never settle gain nothing from entries


class EntryTable:
    """The short ways in, the latest first. `call(*args, **kwargs)` gives MISS if none fits."""

    def __init__(self) -> None:
        self._module, self.made = extension(), 0
        self.call: Any
        self.clear()

    def clear(self) -> None:
        """No short ways: the programs behind them may have been dropped."""
        self.call = _miss if self._module is None else self._module.entries(MISS)

    def add(self, program: ConcreteProgram, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """The next call like this one takes the short way, if it is a simple one."""
        if self._module is None or self.made >= ENTRY_LIMIT:
            return
        if _is_simple(program, args, kwargs, self._module):
            self.made += 1
            self.call.add(_entry(program, args, self._module), ENTRIES_KEPT)


def _miss(*_: Any, **__: Any) -> Any:
    return MISS


def _is_simple(
    concrete: ConcreteProgram, args: tuple[Any, ...], kwargs: dict[str, Any], module: Any
) -> bool:
    """Are the arguments tensors, and can the extension tell calls like this from others?"""
    tensors_only = args and not kwargs and all(isinstance(arg, torch.Tensor) for arg in args)
    if not tensors_only or count_function_modes() or not all(map(module.can_watch, args)):
        return False
    if len(set(map(id, args))) < len(args):
        return False  # one tensor twice is a call of another kind
    has_any_size = any(None in shape for shape in concrete.sizes)
    return not has_any_size or all(arg.is_contiguous() for arg in args)


def _entry(concrete: ConcreteProgram, args: tuple[torch.Tensor, ...], module: Any) -> Any:
    guards, picked = concrete.captured.guards, concrete.picked
    run = direct_run(concrete.run) if concrete.is_pure else None
    result, positions = _result(concrete.program.output_structure)
    if picked is not None:
        run, result, positions = None, "argument", (picked,)

    def finish(outcome: Any, args: tuple[Any, ...]) -> Any:
        """The result of a run that the extension does not put together itself."""
        if outcome is None:
            return concrete(args, (args, {}))
        return concrete.finished(outcome, (args, {}))

    return module.entry(
        tensors=args, sizes=concrete.sizes, watch=guards.watch, hold=guards.hold,
        run=run, result=result, positions=positions, finish=finish,
    )  # fmt: skip


def _result(structure: Structure) -> tuple[str, tuple[int, ...]]:
    """How the extension makes the result from the outputs: of which kind, from which of them."""
    if isinstance(structure, Leaf):
        return "leaf", (structure.position,)
    if isinstance(structure, Sequence) and structure.kind in ("tuple", "list"):
        leaves = [item.position for item in structure.items if isinstance(item, Leaf)]
        if len(leaves) == len(structure.items):
            return structure.kind, tuple(leaves)
    return "python", ()
