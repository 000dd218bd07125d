"""ConvertedFunctions: the staged forms of user functions; their reads from outside are guarded."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator
from dataclasses import dataclass

from stator.location import Location
from stator.rewrite.convert import ConvertedFunction, convert, generator_facts
from stator.state.session import Session


@dataclass(frozen=True)
class StagedForm:
    """A converted function, and what of its surroundings it writes."""

    function: types.FunctionType
    cells_written: tuple[types.CellType, ...]
    writes_globals: bool


class ConvertedFunctions:
    """The functions that one capture has converted."""

    def __init__(self, session: Session, staging: object) -> None:
        self._session, self._staging = session, staging
        self._forms: dict[tuple[types.FunctionType, bool], StagedForm] = {}
        # The code of the functions that the capture creates, by identity: a function created
        # before the capture may have equal code.
        self._local_codes: dict[int, types.CodeType] = {}

    def machine(self, function: types.FunctionType) -> types.FunctionType:
        """The code of a generator function that goes on to its next `yield`, about to run."""
        return self.staged(function, is_machine=True)

    def is_machine(self, function: types.FunctionType) -> bool:
        """Does a generator function use the value of a `yield`?"""
        return generator_facts(function).uses_yields

    def acts_when_closed(self, function: types.FunctionType) -> bool:
        """Does code of a generator function run where its generator is closed or freed?"""
        return generator_facts(function).acts_when_closed

    def staged(
        self, function: types.FunctionType, *, is_machine: bool = False
    ) -> types.FunctionType:
        """The staged form of `function`, about to be called."""
        key = (function, is_machine)
        if key not in self._forms:
            self._forms[key] = self._convert(function, is_machine)
        form = self._forms[key]
        for cell in form.cells_written:
            if self._is_local(function) and not self._session.provenance.is_known_new(cell):
                self._session.provenance.add_created(cell)
            self._session.note(cell)
        if form.writes_globals:
            self._session.provenance.add_external(function.__globals__)
            self._session.note(function.__globals__)
            for name in _globals_written(function.__code__):
                self._session.wrote(function.__globals__, name)
        return form.function

    def add_shared(self, holder: types.FunctionType) -> None:
        """A call of a function has begun: the variables that `holder` closes over are its own."""
        for cell in holder.__closure__ or ():
            self._session.provenance.add_created(cell)

    def _is_local(self, function: types.FunctionType) -> bool:
        """Was `function` created by this capture, and not by an earlier one with the same code?"""
        is_external = self._session.provenance.is_external
        return id(function.__code__) in self._local_codes and not any(
            map(is_external, (function, *(function.__closure__ or ())))
        )

    def _convert(self, function: types.FunctionType, is_machine: bool) -> StagedForm:
        session, defined = self._session, _place_of(function)
        if not self._is_local(function):
            session.reads.read_function(function)
        done = convert(function, self._staging, is_machine=is_machine)
        session.decisions.add("call", "converted", function.__qualname__, defined)
        for name in done.global_reads:
            session.reads.read_global(function.__globals__, name, defined)
        written = tuple(_cells(function, done.nonlocals).values())
        if not self._is_local(function):
            self._guard_cells(function, done)
        self._local_codes.update((id(code), code) for code in _nested_codes(done.function.__code__))
        return StagedForm(done.function, written, bool(done.globals_written))

    def _guard_cells(self, function: types.FunctionType, done: ConvertedFunction) -> None:
        """Guard the variables of an enclosing function that ran before the capture."""
        for cell in _cells(function, done.nonlocals).values():
            self._session.provenance.add_external(cell)
        for name, cell in _cells(function, done.free_reads).items():
            self._session.reads.read_cell(cell, name)


def _place_of(function: types.FunctionType) -> Location:
    code = function.__code__
    return Location(code.co_filename, code.co_firstlineno, 0, code.co_name)


def _cells(function: types.FunctionType, names: tuple[str, ...]) -> dict[str, types.CellType]:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    return {name: cells[name] for name in names if name in cells}


def _nested_codes(code: types.CodeType) -> set[types.CodeType]:
    """The code of every function that `code` creates when it runs."""
    inner = {const for const in code.co_consts if isinstance(const, types.CodeType)}
    return inner.union(*map(_nested_codes, inner))


def _globals_written(code: types.CodeType) -> Iterator[str]:
    """The names that a function, or one inside it, declares `global` and sets."""
    for instruction in dis.get_instructions(code):
        if instruction.opname == "STORE_GLOBAL":
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _globals_written(constant)
