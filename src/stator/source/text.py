"""A function -> its tree, standing on the user's own lines and columns.

The whole file is parsed, once, and the function is found in it by its code object. So nothing
is dedented or shifted, and a function that was compiled from a rewritten tree is found in the
file its author wrote, because rewriting keeps places.
"""

from __future__ import annotations

import ast
import copy
import functools
import linecache
import textwrap
import types
from collections.abc import Iterator
from dataclasses import dataclass

from stator.errors import SourceUnavailable
from stator.location import Location

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True)
class Source:
    """The text of one function, and where it stands."""

    tree: Definition  # a copy of its own: free to change
    text: str
    file: str
    name: str
    class_name: str | None  # the class whose body the function is written in, if any

    def location(self, node: ast.AST) -> Location:
        """Where `node` stands in the user's file."""
        return Location.of(node, file=self.file, function=self.name)


def read_source(function: types.FunctionType) -> Source:
    """The source of `function`; raises SourceUnavailable where there is none."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        raise _unavailable(code, "has no source text")
    text = "".join(lines)
    node, class_name = _find(code, _definitions(code.co_filename, text))
    segment = textwrap.dedent("".join(lines[node.lineno - 1 : node.end_lineno]))
    return Source(copy.deepcopy(node), segment, code.co_filename, code.co_name, class_name)


def _find(code: types.CodeType, index: _Index) -> tuple[Definition, str | None]:
    found = [entry for entry in index.get((code.co_name, code.co_firstlineno), ())]
    if len(found) > 1:
        found = [entry for entry in found if _stands_at(entry[0], code)]
    if len(found) == 1:
        return found[0]
    if found:
        raise _unavailable(code, "is one of several lambdas on one line")
    raise _unavailable(code, "is not in the text of its file")


def _stands_at(node: Definition, code: types.CodeType) -> bool:
    """True when some instruction of `code` has exactly the place of `node`'s value."""
    if not isinstance(node, ast.Lambda):
        return True
    body = node.body
    place = (body.lineno, body.end_lineno, body.col_offset, body.end_col_offset)
    return place in set(code.co_positions())


_Index = dict[tuple[str, int], tuple[tuple[Definition, str | None], ...]]


@functools.lru_cache(maxsize=256)
def _definitions(file: str, text: str) -> _Index:
    """Every function in `text`, by its name and each line that may count as its first."""
    index: _Index = {}
    for node, class_name in _walk(_parse(file, text), None):
        name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        for line in _first_lines(node):
            index[name, line] = (*index.get((name, line), ()), (node, class_name))
    return index


def _parse(file: str, text: str) -> ast.AST:
    try:
        return ast.parse(text, file)
    except SyntaxError as error:
        raise SourceUnavailable(
            f"{file} does not parse: {error.msg}",
            fix="the file has changed since it was imported: import it again",
        ) from error


def _first_lines(node: Definition) -> tuple[int, ...]:
    """The line of the `def`, and that of its first decorator (where CPython counts from)."""
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return tuple(sorted({node.lineno, *(item.lineno for item in decorators[:1])}))


def _walk(node: ast.AST, class_name: str | None) -> Iterator[tuple[Definition, str | None]]:
    pending: list[tuple[ast.AST, str | None]] = [(node, class_name)]
    while pending:
        node, class_name = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node, class_name
        inner = node.name if isinstance(node, ast.ClassDef) else class_name
        pending.extend((child, inner) for child in ast.iter_child_nodes(node))


def _unavailable(code: types.CodeType, problem: str) -> SourceUnavailable:
    return SourceUnavailable(
        f"`{code.co_name}` ({code.co_filename}:{code.co_firstlineno}) {problem}",
        fix="define it with `def` in a file or a notebook cell, or mark it `not_to_static`",
    )
