"""FileTable: the source files that places name, with the lines around them where they are at hand.

Only functions that a program comes from are put on the page, or into a saved model, not whole
files: both may be handed on, and the rest of a file stays private.
"""

from __future__ import annotations

import ast
import linecache
import os
from collections.abc import Iterable, Iterator
from typing import Any

from stator.export.sources import NO_SOURCES, EmbeddedSources, SourceRun
from stator.location import Location, file_name
from stator.program.program import Program

AROUND = 2  # lines shown around a place that is in no function
Span = tuple[int, int]  # first and last line


class FileTable:
    """A number for each file, and the lines of it that are wanted."""

    def __init__(self, *, at_hand: bool, embedded: EmbeddedSources = NO_SOURCES) -> None:
        self._at_hand = at_hand  # False: the names are those of a saved model, without folders
        self._embedded = embedded  # what such a model has of them
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

    def embedded(self) -> EmbeddedSources:
        """What a saved model keeps: runs of lines by the names of files, without folders.

        A run is left out if a place in another file of the same name has a line in it: a reader of
        the model could not tell the two files apart.
        """
        wanted = dict(zip(self._numbers, self._lines, strict=True))
        found: dict[str, list[SourceRun]] = {}
        for file, lines in wanted.items():
            name = file_name(file)
            others = set[int]().union(
                *(wanted[one] for one in wanted if one != file and file_name(one) == name)
            )
            for run in _read(file, lines):
                if others.isdisjoint(range(run.first, run.first + len(run.lines))):
                    found.setdefault(name, []).append(run)
        return {
            name: tuple(sorted(runs, key=lambda run: run.first)) for name, runs in found.items()
        }

    def _runs(self, file: str, wanted: set[int]) -> list[dict[str, Any]]:
        runs = _read(file, wanted) if self._at_hand else self._embedded.get(file, ())
        return [{"first": run.first, "lines": list(run.lines)} for run in runs]


def _read(file: str, wanted: set[int]) -> list[SourceRun]:
    """The functions of `file` that the wanted lines are in."""
    lines = linecache.getlines(file) if _is_whole(file) else []
    texts = [line.rstrip("\n") for line in lines]
    return [
        SourceRun(first, tuple(texts[first - 1 : last]))
        for first, last in _merged(_spans(texts, wanted))
    ]


def sources_of(programs: Iterable[Program]) -> EmbeddedSources:
    """The source of the functions that `programs` come from, as a saved model keeps it."""
    files = FileTable(at_hand=True)
    for program in programs:
        for op in program.ops():
            if op.place is not None:
                files.want(op.place.file, op.place.line)
    return files.embedded()


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
