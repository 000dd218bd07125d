"""Sizes of tensors as data: a number, a symbol, an expression of these, or just some size.

    Dim = int | Symbol | SizeExpr | AnySize

A symbol is a size that only a run knows, and the same size wherever the program names it. `AnySize`
is a size about which nothing is known: the elements of a list may each have another one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeGuard

SizeOp = Literal[
    "add", "mul", "floordiv", "mod", "pow", "min", "max",
    "truediv", "floor", "ceil", "trunc", "round",
]  # fmt: skip


@dataclass(frozen=True)
class Symbol:
    """A size that only a run knows, by name."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class SizeExpr:
    """A size that is computed from others; between floats and ints, Python's arithmetic."""

    op: SizeOp
    args: tuple[SizeArg, ...]

    def __str__(self) -> str:
        return _text(self)[0]


@dataclass(frozen=True)
class AnySize:
    """Some size: two of these may differ."""

    def __str__(self) -> str:
        return "?"


SizeArg = int | float | Symbol | SizeExpr
Dim = int | Symbol | SizeExpr | AnySize
LARGEST = 2**63 - 1


def _power(base: float, exponent: float) -> float:
    """`base ** exponent`; OverflowError before it takes long."""
    if exponent < 0 or not isinstance(exponent, int):
        raise ValueError("sizes have powers that are natural numbers only")
    if abs(base) > 1 and exponent > 64:
        raise OverflowError("the power is not a valid size")
    result: float = base**exponent
    return result


# Each op with the number of its arguments; None is two or more.
OPS: Mapping[SizeOp, tuple[int | None, Callable[..., Any]]] = MappingProxyType(
    {
        "add": (None, lambda *args: sum(args)),
        "mul": (None, lambda *args: math.prod(args)),
        "floordiv": (2, lambda a, b: a // b),
        "mod": (2, lambda a, b: a % b),
        "pow": (2, _power),
        "min": (None, min),
        "max": (None, max),
        "truediv": (2, lambda a, b: a / b),
        "floor": (1, math.floor),
        "ceil": (1, math.ceil),
        "trunc": (1, math.trunc),
        "round": (1, round),
    }
)


def evaluate(size: Dim, sizes: Mapping[str, int]) -> int | None:
    """What `size` is where each symbol is what `sizes` says; None where that does not settle it."""
    if isinstance(size, AnySize):
        return None
    try:
        found = _value(size, sizes)
    except (ArithmeticError, KeyError, ValueError):
        return None
    return found if isinstance(found, int) and abs(found) <= LARGEST else None


def _value(size: SizeArg, sizes: Mapping[str, int]) -> float:
    if isinstance(size, Symbol):
        return sizes[size.name]
    if isinstance(size, SizeExpr):
        value: float = OPS[size.op][1](*(_value(arg, sizes) for arg in size.args))
        return value
    return size


def is_static(shape: Iterable[Dim]) -> TypeGuard[Iterable[int]]:
    """Are all sizes of `shape` numbers?"""
    return all(isinstance(size, int) for size in shape)


def symbols_in(size: Dim | SizeArg) -> Iterator[str]:
    """The names of the symbols of `size`, from left to right, each as often as it is used."""
    if isinstance(size, Symbol):
        yield size.name
    elif isinstance(size, SizeExpr):
        for arg in size.args:
            yield from symbols_in(arg)


def substitute(size: Dim, replacement: Callable[[str], SizeArg]) -> Dim:
    """`size` with `replacement(name)` for each symbol."""
    if isinstance(size, int | AnySize):
        return size
    found = _substituted(size, replacement)
    assert not isinstance(found, float)
    return found


def _substituted(size: SizeArg, replacement: Callable[[str], SizeArg]) -> SizeArg:
    if isinstance(size, Symbol):
        return replacement(size.name)
    if isinstance(size, SizeExpr):
        return SizeExpr(size.op, tuple(_substituted(arg, replacement) for arg in size.args))
    return size


# ---- printing: how tightly a text binds decides where it needs brackets

SUM, PRODUCT, POWER, ATOM = range(4)
SIGNS: Mapping[str, str] = MappingProxyType({"floordiv": "//", "mod": " % ", "truediv": "/"})


def _text(size: SizeArg) -> tuple[str, int]:
    """The text of `size`, and how tightly it binds."""
    if not isinstance(size, SizeExpr):
        negative = not isinstance(size, Symbol) and size < 0
        return (repr(size) if isinstance(size, float) else str(size)), SUM if negative else ATOM
    if size.op == "add":
        return _sum(size.args), SUM
    if size.op == "mul":
        return _product(size.args), PRODUCT
    if size.op in SIGNS:
        return SIGNS[size.op].join(_inside(arg, ATOM) for arg in size.args), PRODUCT
    if size.op == "pow":
        return "**".join(_inside(arg, ATOM) for arg in size.args), POWER
    return f"{size.op}({', '.join(_text(arg)[0] for arg in size.args)})", ATOM


def _inside(size: SizeArg, least: int) -> str:
    text, binds = _text(size)
    return text if binds >= least else f"({text})"


def _sum(terms: tuple[SizeArg, ...]) -> str:
    text = _text(terms[0])[0]
    for term in terms[1:]:
        positive = negated(term) if is_negative(term) else term
        nested = isinstance(positive, SizeExpr) and positive.op == "add"
        shown = f"({positive})" if nested else _text(positive)[0]
        text += f" {'-' if is_negative(term) else '+'} {shown}"
    return text


def _product(factors: tuple[SizeArg, ...]) -> str:
    first, rest = factors[0], factors[1:]
    if first == -1 and not isinstance(first, float):
        return "-" + "*".join(_inside(factor, POWER) for factor in rest)
    begin = str(first) if isinstance(first, int | float) else _inside(first, POWER)
    return "*".join([begin, *(_inside(factor, POWER) for factor in rest)])


def is_negative(size: SizeArg) -> bool:
    """Is it written with a minus: `-2`, `-s0`, `-2*s0`?"""
    if isinstance(size, SizeExpr):
        return size.op == "mul" and isinstance(size.args[0], int | float) and size.args[0] < 0
    return not isinstance(size, Symbol) and size < 0


def negated(size: SizeArg) -> SizeArg:
    """`-size`, with one minus at most."""
    if isinstance(size, int | float):
        return -size
    if isinstance(size, Symbol) or size.op != "mul" or not isinstance(size.args[0], int | float):
        return SizeExpr("mul", (-1, size))
    factor, rest = -size.args[0], size.args[1:]
    if factor != 1 or isinstance(factor, float):
        return SizeExpr("mul", (factor, *rest))
    return rest[0] if len(rest) == 1 else SizeExpr("mul", rest)
