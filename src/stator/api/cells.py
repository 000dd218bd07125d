"""find_cell(): the variable that a closure cell holds, and the line that writes it."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stator.location import Location


@dataclass(frozen=True)
class Cell:
    """A variable of an enclosing function."""

    name: str
    place: Location

    @property
    def words(self) -> str:
        """How an error calls it."""
        return f"`{self.name}`, a variable of an enclosing function"


def find_cell(target: Any, function: Any) -> Cell | None:
    """What `target` is, if it is a cell that `function` closes over."""
    plain = getattr(function, "__func__", function)
    if not isinstance(target, types.CellType) or not isinstance(plain, types.FunctionType):
        return None
    for name, cell in zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True):
        if cell is target:
            place = next(_writes(plain.__code__, name), _start(plain.__code__))
            return Cell(name, place)
    return None


def _writes(code: types.CodeType, name: str) -> Iterator[Location]:
    """Where `code`, or a function inside it, assigns the outer variable `name`."""
    for step in dis.get_instructions(code):
        if step.opname == "STORE_DEREF" and step.argval == name and step.positions is not None:
            line, column = step.positions.lineno, step.positions.col_offset
            yield Location(code.co_filename, line or 1, column or 0, code.co_name)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType) and name in constant.co_freevars:
            yield from _writes(constant, name)


def _start(code: types.CodeType) -> Location:
    return Location(code.co_filename, code.co_firstlineno, 0, code.co_name)
