"""renumber(): values and size symbols get names in the order a reader meets them."""

from __future__ import annotations

import re
from dataclasses import replace

from stator.program.ir import Block, Value
from stator.program.program import Program
from stator.program.types import ListType, OptionalType, TensorType, Type

SYMBOL = re.compile(r"\bu\d+\b")


class SymbolNames:
    """Names for size symbols, `s0`, `s1` and so on, in the order they are met."""

    def __init__(self) -> None:
        self.symbols: dict[str, str] = {}

    def of(self, old: Type) -> Type:
        """`old` with its symbols renamed."""
        if isinstance(old, TensorType):
            return replace(old, shape=tuple(map(self._size, old.shape)))
        if isinstance(old, ListType):
            return ListType(self.of(old.element))
        return OptionalType(self.of(old.element)) if isinstance(old, OptionalType) else old

    def _size(self, size: int | str) -> int | str:
        if isinstance(size, int):
            return size
        return SYMBOL.sub(lambda found: self._symbol(found.group()), size)

    def _symbol(self, name: str) -> str:
        return self.symbols.setdefault(name, f"s{len(self.symbols)}")


class _Names:
    def __init__(self, program: Program) -> None:
        self.taken = {value.name for value in program.inputs}
        self.symbols = SymbolNames()
        self.count = 0

    def rename(self, value: Value) -> None:
        self.retype(value)
        self.count += 1
        while str(self.count) in self.taken:
            self.count += 1
        value.name = str(self.count)

    def retype(self, value: Value) -> None:
        value.type = self.symbols.of(value.type)


def renumber(program: Program) -> Program:
    """Rename the values of `program` in place: a capture leaves gaps where it recorded twice."""
    names = _Names(program)
    for value in program.inputs:
        names.retype(value)
    for stored in program.stored:
        names.rename(stored.value)
    for function in program.functions.values():
        _rename_block(function, names)
    _rename_block(program.body, names)
    return program


def _rename_block(block: Block, names: _Names) -> None:
    for value in block.inputs:
        names.rename(value)
    for op in block.ops:
        for inner in op.blocks:
            _rename_block(inner, names)
        for value in op.results:
            names.rename(value)
