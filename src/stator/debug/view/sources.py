"""FileTable: the source files that places name, with the lines around them where they are at hand.

Only functions that a program comes from are put on the page, not whole files: the page may be
handed on, and the rest of a file stays private.
"""

from __future__ import annotations

import ast
import linecache
import os
from collections.abc import Iterable, Iterator
from typing import Any

from stator.location import Location, file_name

AROUND = 2  # lines shown around a place that is in no function
Span = tuple[int, int]  # first and last line


class FileTable:
    """A number for each file, and the lines of it that are wanted."""

    def __init__(self, *, at_hand: bool) -> None:
        self._at_hand = at_hand  # False: the names are those of a saved model, without folders
        self._numbers: dict[str, int] = {}
        self._lines: list[set[int]] = []

    def place(self, place: Location) -> list[Any]:
        """`place` with the number of its file."""
        number = self.want(place.file, place.line)
        return [number, place.line, place.column, place.function]

    def want(self, file: str, line: int) -> int:
        """The number of `file`, of which `line` is to be shown."""
        number = self._numbers.setdefault(file, len(self._numbers))
        if number == len(self._lines):
            self._lines.append(set())
        self._lines[number].add(line)
        return number

    def data(self) -> list[dict[str, Any]]:
        """Each file: its name, and runs of its lines, none where the text is not at hand."""
        return [
            {"name": file_name(file), "path": file, "runs": self._runs(file, lines)}
            for file, lines in zip(self._numbers, self._lines, strict=True)
        ]

    def _runs(self, file: str, wanted: set[int]) -> list[dict[str, Any]]:
        lines = linecache.getlines(file) if self._at_hand and _is_whole(file) else []
        texts = [line.rstrip("\n") for line in lines]
        return [
            {"first": first, "lines": texts[first - 1 : last]}
            for first, last in _merged(_spans(texts, wanted))
        ]


def _is_whole(file: str) -> bool:
    """Is it surely this file? linecache would look for a bare name in every folder of sys.path."""
    return os.path.isabs(file) or file in linecache.cache


def _spans(texts: list[str], wanted: set[int]) -> Iterator[Span]:
    functions = _functions("\n".join(texts))
    for line in sorted(wanted):
        if 1 <= line <= len(texts):
            around = (max(1, line - AROUND), min(len(texts), line + AROUND))
            yield next((span for span in functions if span[0] <= line <= span[1]), around)


def _functions(text: str) -> list[Span]:
    """The outermost functions, those of classes included, with their decorators."""
    try:
        tree = ast.parse(text)
    except SyntaxError:  # a cell of a notebook, or a file that has changed since
        return []
    return list(_functions_in(tree.body))


def _functions_in(statements: Iterable[ast.stmt]) -> Iterator[Span]:
    for node in statements:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            yield first, node.end_lineno or node.lineno
        else:  # a class, or an `if` around definitions
            inner = (part for part in ast.iter_child_nodes(node) if isinstance(part, ast.stmt))
            yield from _functions_in(inner)


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, those that touch made one."""
    merged: list[Span] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged
