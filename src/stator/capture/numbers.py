"""Symbolic numbers: sympy expressions of sizes and data -> number ops of the program."""

from __future__ import annotations

from typing import Any

import sympy
import torch
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.str import StrPrinter

from stator.capture.any_recorder import AnyRecorder
from stator.capture.literals import integer_arg
from stator.program.ir import Arg
from stator.program.types import NumberKind
from stator.program.typing_rules import is_bool
from stator.torch_private.symbols import functions, sympy_interp

# what torch calls its operators on symbolic numbers -> Stator's number ops
NUMBER_FUNCTIONS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "truediv", "floordiv": "floordiv",
    "mod": "mod", "pow": "pow", "neg": "neg", "abs": "abs", "eq": "eq", "ne": "ne", "lt": "lt",
    "le": "le", "gt": "gt", "ge": "ge", "and_": "and", "or_": "or", "not_": "not",
    "sym_float": "float", "sym_int": "int", "sym_not": "not", "sym_min": "min", "sym_max": "max",
    "sym_sqrt": "sqrt", "_sym_sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
    "round": "round", "sym_sum": "add",
}  # fmt: skip


class NumberBuilder:
    """Walks a sympy expression and records it; torch's interpreter calls a method for each node."""

    def __init__(self, recorder: AnyRecorder) -> None:
        self.recorder = recorder

    def build(self, expression: sympy.Basic, kind: NumberKind) -> Arg:
        """The Arg for `expression`: a constant, or a value of the current block."""
        if expression in (sympy.true, sympy.false):
            return bool(expression)
        if expression.is_number:
            made = {"int": int, "bool": bool, "float": float, "complex": complex}[kind](expression)
            return integer_arg(made) if kind == "int" else made
        symbols = {s: self.recorder.symbol_arg(s) for s in _ordered(expression.free_symbols)}
        result: Arg = sympy_interp(self, symbols, expression)
        return result

    def constant(self, value: Any, dtype: torch.dtype) -> Arg:
        """A number in the expression, as Python's."""
        if dtype == torch.bool:
            return bool(value)
        return float(value) if dtype.is_floating_point else integer_arg(int(value))

    def __getattr__(self, name: str) -> Any:
        if name not in _BUILDERS:
            raise AttributeError(name)
        op, kind = _BUILDERS[name]
        return lambda *args: self.recorder.emit_number(f"stator::{op}", args, kind)

    def eq(self, left: Arg, right: Arg) -> Arg:
        """`left == right`; a truth value is `symbol == 1` to sympy, and is itself here."""
        if is_bool(left) and right == 1:
            return left
        return self.recorder.emit_number("stator::eq", (left, right), "bool")

    def ne(self, left: Arg, right: Arg) -> Arg:
        """`left != right`; `symbol != 1` of a truth value is its `not`."""
        if is_bool(left) and right == 1:
            return self.recorder.emit_number("stator::not", (left,), "bool")
        return self.recorder.emit_number("stator::ne", (left, right), "bool")

    def to_dtype(self, value: Arg, dtype: torch.dtype) -> Arg:
        """`value` as a float or an int."""
        op = "float" if dtype.is_floating_point else "int"
        return self.recorder.emit_number(f"stator::{op}", (value,), op)  # type: ignore[arg-type]

    def expr_cond_pair(self, value: Arg, condition: Arg) -> tuple[Arg, Arg]:
        """One case of a piecewise expression."""
        return (value, condition)

    def where(self, condition: Arg, yes: Arg, no: Arg) -> Arg:
        """`yes` if `condition` holds, else `no`."""
        index = self.recorder.emit_number("stator::int", (condition,), "int")
        return self.recorder.emit_number("stator::select", (index, (no, yes)), "int")


# torch's names for sympy nodes -> (number op, kind of its result)
_BUILDERS: dict[str, tuple[str, NumberKind]] = {
    "add": ("add", "int"), "sub": ("sub", "int"), "mul": ("mul", "int"), "neg": ("neg", "int"),
    "floordiv": ("floordiv", "int"), "mod": ("mod", "int"), "python_mod": ("mod", "int"),
    "int_truediv": ("truediv", "float"), "truediv": ("truediv", "float"),
    "pow": ("pow", "int"), "pow_by_natural": ("pow", "int"), "abs": ("abs", "int"),
    "maximum": ("max", "int"), "minimum": ("min", "int"), "lt": ("lt", "bool"),
    "le": ("le", "bool"), "gt": ("gt", "bool"), "ge": ("ge", "bool"),
    "and_": ("and", "bool"), "or_": ("or", "bool"), "not_": ("not", "bool"),
    "floor_to_int": ("floor", "int"), "ceil_to_int": ("ceil", "int"),
    "trunc_to_int": ("trunc", "int"), "round_to_int": ("round", "int"),
    "identity": ("int", "int"),
}  # fmt: skip


def _ordered(symbols: set[sympy.Symbol]) -> list[sympy.Symbol]:
    return sorted(symbols, key=lambda symbol: (len(symbol.name), symbol.name))


def both(a: Any, b: Any) -> Any:
    """`a and b` of two truth values, symbolic or not."""
    if isinstance(a, bool):
        return b if a else False
    return a if b is True else b if b is False else a & b


def either(a: Any, b: Any) -> Any:
    """`a or b` of two truth values, symbolic or not."""
    if isinstance(a, bool):
        return True if a else b
    return a if b is False else b if b is True else a | b


SIGNS = {
    sympy.Eq: "==",
    sympy.Ne: "!=",
    sympy.Lt: "<",
    sympy.Le: "<=",
    sympy.Gt: ">",
    sympy.Ge: ">=",
}


def in_words(fact: sympy.Basic, names: dict[sympy.Symbol, str]) -> str:
    """A fact about sizes as Python would write it."""
    if isinstance(fact, sympy.Or | sympy.And):
        word = " or " if isinstance(fact, sympy.Or) else " and "
        parts = sorted(fact.args, key=lambda part: (part.args[-1].is_number, str(part)))
        return word.join(in_words(part, names) for part in parts)
    fact = _as_remainder(fact).xreplace(
        {symbol: sympy.Symbol(name) for symbol, name in names.items()}
    )
    write = _PythonWords().doprint
    sign = SIGNS.get(type(fact))
    if sign is None:
        return str(write(fact))
    left, right = (str(write(side)) for side in fact.args)
    return f"{left} {sign} {right}"


def _as_remainder(fact: sympy.Basic) -> sympy.Basic:
    """`n % 3 == 0` in place of `n == 3 * (n // 3)`; any other fact as it is."""
    if isinstance(fact, sympy.Eq):
        for whole, product in (fact.args, fact.args[::-1]):
            for quotient in product.atoms(functions.FloorDiv):
                base, divisor = quotient.args
                if base == whole and product == divisor * quotient:
                    return sympy.Eq(functions.PythonMod(whole, divisor), 0, evaluate=False)
    return fact


class _PythonWords(StrPrinter):
    """Writes torch's functions of sizes as Python does; sympy looks methods up by the class."""

    def _print_PythonMod(self, expression: sympy.Basic) -> str:  # noqa: N802
        return " % ".join(self.parenthesize(arg, PRECEDENCE["Mul"]) for arg in expression.args)

    def _print_Mod(self, expression: sympy.Basic) -> str:  # noqa: N802
        return self._print_PythonMod(expression)

    def _print_Min(self, expression: sympy.Basic) -> str:  # noqa: N802
        return f"min({self.stringify(expression.args, ', ')})"

    def _print_Max(self, expression: sympy.Basic) -> str:  # noqa: N802
        return f"max({self.stringify(expression.args, ', ')})"
