"""Size words: how messages name a size or a number of the program."""

from __future__ import annotations

import sympy

from stator.capture.any_recorder import AnyRecorder
from stator.capture.errors.variable_names import name_of_number, name_of_value
from stator.capture.numbers import in_words
from stator.program.ir import Value


def size_in_words(recorder: AnyRecorder, symbol: sympy.Symbol) -> str:
    """`batch` for a size that the user has named, `x.shape[0]` for one of a variable."""
    if symbol in recorder.sizes.names:
        return recorder.sizes.names[symbol]
    for scope in recorder.scope.chain():
        if symbol in scope.symbols:
            value, dimension = scope.symbols[symbol]
            if dimension is None:
                return name_of_number(symbol) or "a number"
            name = value.name if not value.name.isdigit() else name_of_value(recorder.find, value)
            return f"{name or _made_where(recorder, value)}.shape[{dimension}]"
    return "a size"


def names_of_sizes(recorder: AnyRecorder) -> dict[str, str]:
    """The sizes that have a name in the user's code, by the symbols that torch prints."""
    symbols = [symbol for scope in recorder.scope.chain() for symbol in scope.symbols]
    words = {str(symbol): size_in_words(recorder, symbol) for symbol in symbols}
    return {symbol: name for symbol, name in words.items() if not name.startswith(("a ", "(a "))}


def _made_where(recorder: AnyRecorder, value: Value) -> str:
    """A tensor without a name, by the line that makes it."""
    for scope in recorder.scope.chain():
        for op in scope.block.ops:
            if value in op.results and op.place is not None:
                return f"(a tensor made at {op.place.short})"
    return "(a tensor)"


def question_in_words(recorder: AnyRecorder, question: sympy.Basic) -> str:
    """`x.shape[0] > 3`: what Python code asks, in the user's names."""
    found = {symbol: size_in_words(recorder, symbol) for symbol in question.free_symbols}
    named = {
        symbol: "a captured number" if words in ("a number", "a size") else words
        for symbol, words in found.items()
    }
    return in_words(question, named)
