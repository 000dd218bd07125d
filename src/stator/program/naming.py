"""renumber(): values and size symbols get names in the order a reader meets them."""

from __future__ import annotations

from stator.program.ir import Block, Value
from stator.program.program import Program
from stator.program.sizes import Symbol, substitute
from stator.program.types import Type, with_sizes, with_unions


class SymbolNames:
    """Names for the symbols of a capture (`u7`): `s0`, `s1` and so on, in the order they are met.

    Other symbols have their names already.
    """

    def __init__(self) -> None:
        self.symbols: dict[str, Symbol] = {}

    def of(self, old: Type) -> Type:
        """`old` with its symbols renamed."""
        return with_sizes(old, lambda size: substitute(size, self._symbol))

    def _symbol(self, name: str) -> Symbol:
        if not (name.startswith("u") and name[1:].isdecimal()):
            return Symbol(name)
        return self.symbols.setdefault(name, Symbol(f"s{len(self.symbols)}"))


class _Names:
    def __init__(self, program: Program) -> None:
        self.taken = {value.name for value in program.inputs}
        self.symbols = SymbolNames()
        self.unions: dict[str, str] = {}
        self.count = 0

    def rename(self, value: Value) -> None:
        self.retype(value)
        self.count += 1
        while str(self.count) in self.taken:
            self.count += 1
        value.name = str(self.count)

    def retype(self, value: Value) -> None:
        value.type = with_unions(self.symbols.of(value.type), self._union)

    def _union(self, name: str) -> str:
        return self.unions.setdefault(name, f"t{len(self.unions)}")


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
