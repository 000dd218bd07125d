"""parse_size(): the text of a size -> data; versions 1 and 2 of the format hold sizes as text.

    sum     = product {("+" | "-") product}
    product = signed {("*" | "//" | "/" | "%") signed}
    signed  = "-" signed | atom ["**" signed]
    atom    = number | name | name "(" sum {"," sum} ")" | "(" sum ")"

Those versions wrote sizes as sympy prints them. What this grammar does not know is some size:
readers of those versions took any text for the name of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from stator.program.sizes import OPS, AnySize, Dim, SizeArg, SizeExpr, SizeOp, Symbol, negated

MAX_LENGTH = 10_000  # characters
MAX_DEPTH = 50
SIGNS: Mapping[str, SizeOp] = MappingProxyType(
    {"*": "mul", "//": "floordiv", "/": "truediv", "%": "mod"}
)
# The functions that sympy and torch print, and those that Stator prints.
FUNCTIONS: Mapping[str, SizeOp] = MappingProxyType(
    {
        "Min": "min", "Max": "max", "FloorDiv": "floordiv", "CleanDiv": "floordiv", "Mod": "mod",
        "PythonMod": "mod", "PowByNatural": "pow", "IntTrueDiv": "truediv",
        "FloatTrueDiv": "truediv", "FloorToInt": "floor", "CeilToInt": "ceil",
        "TruncToInt": "trunc", "RoundToInt": "round", "floor": "floor", "ceiling": "ceil",
        **{op: op for op in OPS if op not in ("add", "mul")},
    }
)  # fmt: skip
SAME = frozenset({"ToFloat", "Identity"})


def parse_size(text: str) -> Dim:
    """The size that `text` says; AnySize if it is not an expression of sizes."""
    if len(text) > MAX_LENGTH:
        return AnySize()
    try:
        parser = _Parser(_tokens(text))
        size = parser.sum(0)
        parser.end()
    except _NotASize:
        return AnySize()
    return AnySize() if isinstance(size, float) else size


class _NotASize(Exception):
    pass


def _tokens(text: str) -> list[str]:
    """Names, numbers and signs, without the spaces between them."""
    tokens, position = [], 0
    while position < len(text):
        end = position + 1
        if text[position].isdecimal():
            end = _number_end(text, position)
        elif text[position].isidentifier():
            while text[position : end + 1].isidentifier() and end < len(text):
                end += 1
        elif text[position : position + 2] in ("//", "**"):
            end += 1
        if not text[position].isspace():
            tokens.append(text[position:end])
        position = end
    return tokens


def _number_end(text: str, start: int) -> int:
    """Where the number that begins at `start` ends: `12`, `0.5`, `1e-05`."""
    end = start
    while end < len(text) and (
        text[end].isdecimal() or text[end] in ".e" or (text[end] in "+-" and text[end - 1] == "e")
    ):
        end += 1
    return end


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.position = tokens, 0

    def peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self, token: str) -> bool:
        """Is `token` next? Then it is taken."""
        found = self.peek() == token
        self.position += found
        return found

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise _NotASize

    def end(self) -> None:
        if self.position < len(self.tokens):
            raise _NotASize

    def sum(self, depth: int) -> SizeArg:
        if depth > MAX_DEPTH:
            raise _NotASize
        terms = [self.product(depth)]
        while self.peek() in ("+", "-"):
            minus = self.take("-") or not self.take("+")
            term = self.product(depth)
            terms.append(negated(term) if minus else term)
        return _joined("add", terms)

    def product(self, depth: int) -> SizeArg:
        factors = [self.signed(depth)]
        while self.peek() in SIGNS:
            op = SIGNS[self.tokens[self.position]]
            self.position += 1
            factor = self.signed(depth)
            if op == "mul":
                factors.append(factor)
            else:
                factors = [SizeExpr(op, (_joined("mul", factors), factor))]
        return _joined("mul", factors)

    def signed(self, depth: int) -> SizeArg:
        if depth > MAX_DEPTH:
            raise _NotASize
        if self.take("-"):
            return negated(self.signed(depth + 1))
        base = self.atom(depth)
        return SizeExpr("pow", (base, self.signed(depth + 1))) if self.take("**") else base

    def atom(self, depth: int) -> SizeArg:
        token = self.peek()
        self.position += 1
        if token == "(":
            inside = self.sum(depth + 1)
            self.expect(")")
            return inside
        if token[:1].isdecimal():
            return _number(token)
        if not token.isidentifier():
            raise _NotASize
        return self.call(token, depth) if self.take("(") else Symbol(token)

    def call(self, name: str, depth: int) -> SizeArg:
        args = [self.sum(depth + 1)]
        while self.take(","):
            args.append(self.sum(depth + 1))
        self.expect(")")
        if name in SAME and len(args) == 1:
            return args[0]
        if name not in FUNCTIONS or len(args) != (OPS[FUNCTIONS[name]][0] or max(2, len(args))):
            raise _NotASize
        return SizeExpr(FUNCTIONS[name], tuple(args))


def _joined(op: SizeOp, parts: list[SizeArg]) -> SizeArg:
    """A sum or a product; `-s0*s1` is a product of three."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if op == "mul" and isinstance(first, SizeExpr) and first.op == "mul" and first.args[0] == -1:
        return SizeExpr("mul", (*first.args, *parts[1:]))
    return SizeExpr(op, tuple(parts))


def _number(token: str) -> int | float:
    try:
        return int(token) if token.isdecimal() else float(token)
    except ValueError:  # `1.2.3`, or more digits than Python takes
        raise _NotASize from None
