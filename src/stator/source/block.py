"""The lines of one `def` -> its tree, without parsing the rest of its file.

A block ends before the next line that is indented as little as its `def`. If that line is in a
string or in brackets, the text before it does not parse, and the block goes on to the next one.
Where the names around a function cannot be told from its code object, the caller parses the file.
"""

from __future__ import annotations

import ast
import itertools
import re
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from stator.source.nodes import inner_statements

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
LOCALS = "<locals>"
ATTEMPTS = 8  # ends of a block that are tried
_START = re.compile(r"([ \t]*)(@|def\s|async\s)")
_DEF = re.compile(r"\s*(async\s+)?def\s")
_GOES_ON = frozenset("#)]}")  # no statement starts with one of these


@dataclass(frozen=True)
class FoundDefinition:
    """A function in a tree, with the names that are around it."""

    node: Definition
    class_name: str | None
    enclosing: tuple[Definition, ...]


def definition_at(code: types.CodeType, lines: list[str]) -> FoundDefinition | None:
    """The `def` of `code` in the `lines` of its file; None where that takes the whole file."""
    names, first = code.co_qualname.split("."), code.co_firstlineno
    start = _START.match(lines[first - 1]) if first <= len(lines) else None
    if start is None or names[-1] != code.co_name:
        return None
    outer = names[: names.index(LOCALS)] if LOCALS in names else names
    if outer is names and code.co_freevars not in ((), ("__class__",)):
        return None  # a function that is declared `global` where it is defined
    at = first if outer is names else _outermost(outer[-1], first, len(start[1]), lines)
    tree = None if at is None else _parsed(at, lines, is_inside=len(outer) > 1)
    if tree is None:
        return None
    class_name = outer[-2] if len(outer) > 1 else None
    around = [name for name, after in itertools.pairwise(names) if after == LOCALS]
    for found in definitions_in(tree, class_name):
        if (
            getattr(found.node, "name", None) == code.co_name
            and first in first_lines(found.node)
            and [getattr(one, "name", None) for one in found.enclosing] == around
        ):
            return found
    return None


def _outermost(name: str, first: int, indent: int, lines: list[str]) -> int | None:
    """The line of the nearest `def name` before the line `first` that may be around it."""
    start = re.compile(rf"([ \t]*)(async\s+)?def\s+{re.escape(name)}\b")
    for number in range(first - 1, 0, -1):
        found = start.match(lines[number - 1])
        if found is not None and len(found[1]) < indent:
            return number
    return None


def _parsed(first: int, lines: list[str], *, is_inside: bool) -> ast.AST | None:
    """The tree of the definition that starts at the line `first`."""
    indent = len(lines[first - 1]) - len(lines[first - 1].lstrip(" \t"))
    if bool(indent) != is_inside:
        return None  # in an `if`, or declared `global`
    header = "\n" * (first - 2) + "if 1:\n" if indent else "\n" * (first - 1)
    for end in itertools.islice(_ends(first, indent, lines), ATTEMPTS):
        try:
            return ast.parse(header + "".join(lines[first - 1 : end]))
        except SyntaxError:
            continue
    return None


def _ends(first: int, indent: int, lines: list[str]) -> Iterator[int]:
    """The lines before which a block that starts at the line `first` may end.

    NOTE: a block that is cut too late holds more than is wanted, which does no harm. One that is
    cut too early, inside of a statement, does not parse. Tabs count as one column each: Python
    refuses a file in which it matters how many they are.
    """
    is_open = False  # are the decorators over?
    for number in range(first - 1, len(lines)):
        line = lines[number]
        text = line.lstrip()
        if not text or text[0] in _GOES_ON or len(line) - len(text) > indent:
            continue
        if is_open:
            yield number
        is_open = is_open or _DEF.match(line) is not None
    yield len(lines)


def first_lines(node: Definition) -> tuple[int, ...]:
    """The line of the `def`, and that of its first decorator (where CPython counts from)."""
    if isinstance(node, ast.Lambda) or not node.decorator_list:
        return (node.lineno,)
    return tuple(sorted({node.lineno, node.decorator_list[0].lineno}))


def definitions_in(
    tree: ast.AST,
    class_name: str | None = None,
    inside: Callable[[ast.AST], Iterable[ast.AST]] = inner_statements,
) -> Iterator[FoundDefinition]:
    """The functions of `tree` that are found by going `inside` each node."""
    pending: list[tuple[ast.AST, str | None, tuple[Definition, ...]]] = [(tree, class_name, ())]
    while pending:
        node, owner, around = pending.pop()
        if isinstance(node, ast.ClassDef):
            owner = node.name
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield FoundDefinition(node, owner, around)
            around = (*around, node)
        pending.extend([(child, owner, around) for child in inside(node)])
