"""Entries: the short way into a program, for calls like one that came before.

A call is like an earlier one when its arguments are tensors of the same kinds and nothing else has
changed. The extension checks that, and runs the program (`runtime/python/entry.cpp`); a call that
it does not know takes the long way, by its signature. Without the extension, every call does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from stator.api.call_forms import NUMBERS, FlatCall, flat_call, leaves_of, open_form
from stator.api.concrete import ConcreteProgram
from stator.api.short_runs import short_run
from stator.api.signature import Sizes
from stator.execute.backend import direct_run
from stator.extension import extension
from stator.program.structure import Leaf, Structure
from stator.program.structure import Sequence as SequenceStructure
from stator.torch_private.checks import count_function_modes

MISS = object()
ENTRIES_KEPT = 4
NO_CALL: tuple[Any, ...] = ((), {})
ENTRY_LIMIT = 64  # calls whose kinds never settle gain nothing from entries


class Match(NamedTuple):
    """What an entry gives where the call itself is needed to run the program."""

    program: ConcreteProgram


class EntryTable:
    """The short ways in, the latest first. `call(*args, **kwargs)` gives MISS if none fits.

    It knows calls with positional tensors alone; `call_by_form` knows all others that have a form.
    """

    def __init__(self) -> None:
        self._module = extension()
        self.made: int
        self.call: Any
        self._by_form: dict[tuple[Any, ...], Any]
        self._by_open_form: dict[tuple[Any, ...], Any]
        self.clear()

    def clear(self) -> None:
        """No short ways, after a capture: some programs are dropped, by what the long way finds."""
        self.made = 0
        self.call = _miss if self._module is None else self._module.entries(MISS)
        self._by_form = {}
        self._by_open_form = {}

    def call_by_form(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a call with keywords, numbers, None, lists; MISS if no entry fits."""
        if not (self._by_form or self._by_open_form):
            return MISS
        flat = flat_call(args, kwargs)
        if flat is None:
            return MISS
        entries = self._by_form.get(flat.form)
        if entries is None:
            return self._call_by_open_form(flat, args, kwargs) if self._by_open_form else MISS
        result = entries(*flat.tensors)
        if type(result) is Match:
            return result.program.on_tensors(tuple(flat.tensors), (args, kwargs))
        return result

    def _call_by_open_form(
        self, flat: FlatCall, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The result of a call whose numbers are inputs of the program."""
        entries = self._by_open_form.get(open_form(flat.form))
        leaves = None if entries is None else leaves_of(args, kwargs)
        if entries is None or leaves is None:
            return MISS
        result = entries(*flat.tensors)
        return result.program(leaves, (args, kwargs)) if type(result) is Match else result

    def add(
        self,
        program: ConcreteProgram,
        leaves: tuple[Any, ...],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        """The next call like this one, which has these leaves, takes the short way if it can."""
        if self._module is None or self.made >= ENTRY_LIMIT or program.captured.untagged:
            return
        if args and not kwargs and all(isinstance(arg, torch.Tensor) for arg in args):
            if _is_simple(program.sizes, args, self._module):
                self.made += 1
                self.call.add(_entry(program, args, self._module), ENTRIES_KEPT)
            return
        flat = flat_call(args, kwargs)
        if flat is None or not flat.tensors:
            return
        if _takes_tensors_only(program, leaves):
            table, form, takes_numbers = self._by_form, flat.form, False
        elif _takes_any_number(program, leaves):
            table, form, takes_numbers = self._by_open_form, open_form(flat.form), True
        else:
            return
        sizes = _sizes_of_tensors(program, leaves)
        if _is_simple(sizes, flat.tensors, self._module):
            self.made += 1
            entries = table.setdefault(form, self._module.entries(MISS))
            made = _entry_by_form(program, flat.tensors, sizes, self._module, takes_numbers)
            entries.add(made, ENTRIES_KEPT)


def _miss(*_: Any, **__: Any) -> Any:
    return MISS


def _is_simple(sizes: Sizes, tensors: Sequence[Any], module: Any) -> bool:
    """Can the extension tell calls with tensors like these from others?"""
    if count_function_modes():
        return False
    if not all(isinstance(one, torch.Tensor) and module.can_watch(one) for one in tensors):
        return False  # a long list may have other items
    if len(set(map(id, tensors))) < len(tensors):
        return False  # one tensor twice is a call of another kind
    has_any_size = any(None in shape for shape in sizes)
    return not has_any_size or all(tensor.is_contiguous() for tensor in tensors)


def _takes_tensors_only(program: ConcreteProgram, leaves: tuple[Any, ...]) -> bool:
    """Are the inputs of the program the tensors of the call, and no numbers?"""
    taken = range(len(leaves)) if program.taken is None else program.taken
    tensors = [k for k, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    return list(taken) == tensors


def _takes_any_number(program: ConcreteProgram, leaves: tuple[Any, ...]) -> bool:
    """Does the program hold for any number in the place of each that the call has?"""
    pairs = zip(program.sizes, leaves, strict=True)
    return all(shape == (None,) for shape, leaf in pairs if type(leaf) in NUMBERS)


def _sizes_of_tensors(program: ConcreteProgram, leaves: tuple[Any, ...]) -> Sizes:
    pairs = zip(program.sizes, leaves, strict=True)
    return tuple(shape for shape, leaf in pairs if isinstance(leaf, torch.Tensor))


def _entry(concrete: ConcreteProgram, args: tuple[torch.Tensor, ...], module: Any) -> Any:
    guards, picked = concrete.captured.guards, concrete.picked
    run = direct_run(concrete.run) if concrete.is_pure else None
    result, positions = _result(concrete.program.output_structure)
    if picked is not None:
        run, result, positions = None, "argument", (picked,)
    short = short_run(concrete) or _long_run(concrete)

    def finish(outcome: Any, args: tuple[Any, ...]) -> Any:
        """The result of a run that the extension does not put together itself."""
        return short(args) if outcome is None else concrete.finished(outcome, (args, {}))

    return module.entry(
        tensors=args, sizes=concrete.sizes, watch=guards.watch, hold=guards.hold,
        run=run, result=result, positions=positions, finish=finish,
    )  # fmt: skip


def _long_run(concrete: ConcreteProgram) -> Callable[[tuple[Any, ...]], Any]:
    return lambda args: concrete(args, (args, {}))


def _entry_by_form(
    concrete: ConcreteProgram,
    tensors: Sequence[torch.Tensor],
    sizes: Sizes,
    module: Any,
    takes_numbers: bool,
) -> Any:
    """An entry for the tensors of calls of one form; the call itself is not known to it."""
    guards, match = concrete.captured.guards, Match(concrete)
    is_enough = concrete.needs_no_call and not takes_numbers
    run = direct_run(concrete.run) if is_enough else None
    result, positions = _result(concrete.program.output_structure)
    if concrete.picked is not None and is_enough:
        run, result, positions = None, "argument", (concrete.picked,)

    def finish(outcome: Any, _: tuple[Any, ...]) -> Any:
        return match if outcome is None else concrete.finished(outcome, NO_CALL)

    return module.entry(
        tensors=tensors, sizes=sizes, watch=guards.watch, hold=guards.hold,
        run=run, result=result, positions=positions, finish=finish,
    )  # fmt: skip


def _result(structure: Structure) -> tuple[str, tuple[int, ...]]:
    """How the extension makes the result from the outputs: of which kind, from which of them."""
    if isinstance(structure, Leaf):
        return "leaf", (structure.position,)
    if isinstance(structure, SequenceStructure) and structure.kind in ("tuple", "list"):
        leaves = [item.position for item in structure.items if isinstance(item, Leaf)]
        if len(leaves) == len(structure.items):
            return structure.kind, tuple(leaves)
    return "python", ()
