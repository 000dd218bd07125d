"""renumber(): values and size symbols get names in the order a reader meets them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from types import MappingProxyType

from stator.program.ir import Block, Value
from stator.program.program import Program
from stator.program.sizes import Symbol, substitute
from stator.program.types import Type, with_sizes, with_unions


class SymbolNames:
    """Names for the symbols of a capture (`u7`): `s0`, `s1` and so on, in the order they are met.

    Those that `given` names have that name; other symbols have their names already.
    """

    def __init__(self, given: Mapping[str, str] = MappingProxyType({})) -> None:
        self.symbols = {name: Symbol(own) for name, own in given.items()}
        taken = frozenset(given.values())
        self._free = (f"s{k}" for k in itertools.count() if f"s{k}" not in taken)

    def of(self, old: Type) -> Type:
        """`old` with its symbols renamed."""
        return with_sizes(old, lambda size: substitute(size, self._symbol))

    def _symbol(self, name: str) -> Symbol:
        if name not in self.symbols:
            if not (name.startswith("u") and name[1:].isdecimal()):
                return Symbol(name)
            self.symbols[name] = Symbol(next(self._free))
        return self.symbols[name]


class _Names:
    def __init__(self, program: Program, sizes: Mapping[str, str]) -> None:
        self.taken = {value.name for value in program.inputs}
        self.symbols = SymbolNames(sizes)
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


def renumber(program: Program, sizes: Mapping[str, str] = MappingProxyType({})) -> Program:
    """Rename the values of `program` in place: a capture leaves gaps where it recorded twice.

    `sizes` has the user's names of symbols of the capture.
    """
    names = _Names(program, sizes)
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
