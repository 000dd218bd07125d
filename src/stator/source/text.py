"""A function -> its tree, on the user's own lines and columns.

The lines of its `def` are parsed where they are (`block`); where that is not enough, the whole
file is, once, and the function is found in it by its code object. So nothing is dedented or
shifted, and a function that was compiled from a rewritten tree is found in the file its author
wrote, because rewriting keeps places.
"""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import linecache
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stator.errors import SourceUnavailable
from stator.location import Location
from stator.source.block import (
    Definition,
    FoundDefinition,
    definition_at,
    definitions_in,
    first_lines,
)
from stator.source.nodes import children, copy_tree
from stator.source.private import mangled

_Point = tuple[int, int]


@dataclass(frozen=True)
class Source:
    """The text of one function, and where it is."""

    tree: Definition  # a copy of its own: free to change
    text: str
    file: str
    name: str
    class_name: str | None  # the class whose body the function is written in, if any
    enclosing: tuple[Definition, ...]  # the functions around it, outermost first

    def location(self, node: ast.AST) -> Location:
        """Where `node` is in the user's file."""
        return Location.of(node, file=self.file, function=self.name)


def read_source(function: types.FunctionType) -> Source:
    """The source of `function`; raises SourceUnavailable where there is none."""
    code = function.__code__
    lines = _lines_of(function)
    if not lines:
        raise _unavailable(code, "has no source text")
    found = definition_at(code, lines)
    is_shared = found is None or bool(found.enclosing)
    if found is None:
        index = _lambdas if code.co_name == "<lambda>" else _definitions
        found = _find(code, index(code.co_filename, "".join(lines)))
    node = found.node
    segment = "".join(lines[node.lineno - 1 : node.end_lineno])
    return Source(
        copy_tree(node) if is_shared else node, segment, code.co_filename, code.co_name,
        found.class_name, found.enclosing,
    )  # fmt: skip


def _lines_of(function: types.FunctionType) -> list[str]:
    """The lines of its file; a module that is frozen into Python has one, too."""
    names, file = function.__globals__, function.__code__.co_filename
    if file.startswith("<frozen"):
        file = names.get("__file__") or file
    return linecache.getlines(file, names)


_Index = dict[tuple[str, int], tuple[FoundDefinition, ...]]


def _find(code: types.CodeType, index: _Index) -> FoundDefinition:
    found = index.get((code.co_name, code.co_firstlineno), ()) or _renamed(code, index)
    if len(found) > 1:
        found = _innermost(tuple(entry for entry in found if _holds(entry.node, code)))
    if len(found) > 1:  # Python 3.12 does not say where the constant of `lambda: 3` is
        same = tuple(entry for entry in found if _compiles_to(entry.node, code))
        found = same[:1] if len({ast.dump(entry.node) for entry in same}) == 1 else found
    if len(found) == 1:
        return found[0]
    if found:
        raise _unavailable(code, "is one of several lambdas on one line")
    raise _unavailable(code, "is not in the text of its file")


def _renamed(code: types.CodeType, index: _Index) -> tuple[FoundDefinition, ...]:
    """The `def` of a function whose code was given another name (`code.replace(co_name=...)`)."""
    starts = (found for (_, line), found in index.items() if line == code.co_firstlineno)
    every = {id(entry): entry for entry in itertools.chain.from_iterable(starts)}.values()
    return tuple(
        entry
        for entry in every
        if _parameters(entry.node) == _parameters_of(code)
        and all(entry.node.lineno <= start[0] for start, _ in _places(code))
        and all(end[0] <= (entry.node.end_lineno or 0) for _, end in _places(code))
    )


def _parameters(node: Definition) -> tuple[str, ...]:
    """The names of the parameters, in the order of a code object."""
    args = node.args
    named = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    return tuple(one.arg for one in named if one is not None)


def _parameters_of(code: types.CodeType) -> tuple[str, ...]:
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + stars]


def _holds(node: Definition, code: types.CodeType) -> bool:
    """True when every instruction of `code` is inside the value of the lambda `node`."""
    return all(_span(node)[0] <= start and end <= _span(node)[1] for start, end in _places(code))


def _compiles_to(node: Definition, code: types.CodeType) -> bool:
    """True when the lambda `node` does what `code` does, wherever it is."""
    if not isinstance(node, ast.Lambda):
        return False
    whole = compile(ast.Expression(node), code.co_filename, "eval")
    made = next(one for one in whole.co_consts if isinstance(one, types.CodeType))
    return _meaning(made) == _meaning(code)


def _meaning(code: types.CodeType) -> tuple[object, ...]:
    constants = tuple((type(one), repr(one)) for one in code.co_consts)
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars


def _innermost(found: tuple[FoundDefinition, ...]) -> tuple[FoundDefinition, ...]:
    """The entries that hold no other: a lambda in a lambda is inside both."""
    starts = [_span(entry.node)[0] for entry in found]
    nested = all(_span(a.node)[1] >= _span(b.node)[1] for a, b in itertools.pairwise(found))
    return found[-1:] if nested and starts == sorted(starts) else found


def _span(node: Definition) -> tuple[_Point, _Point]:
    """Where the value of a lambda starts and ends."""
    body = node.body if isinstance(node, ast.Lambda) else node
    return (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)


def _places(code: types.CodeType) -> Iterator[tuple[_Point, _Point]]:
    """The places of the instructions of `code`, as far as they have any."""
    for line, end_line, column, end_column in code.co_positions():
        if line is None or end_line is None or column is None or end_column is None:
            continue
        if (line, column) != (end_line, end_column):
            yield (line, column), (end_line, end_column)


@functools.lru_cache(maxsize=128)
def _definitions(file: str, text: str) -> _Index:
    """Every `def` in `text`, by its name and each line that may count as its first."""
    return _index(definitions_in(_parse(file, text)))


@functools.lru_cache(maxsize=128)
def _lambdas(file: str, text: str) -> _Index:
    """Every lambda in `text`, by each line that may count as its first."""
    every = definitions_in(_parse(file, text), inside=children)
    return _index(found for found in every if _is_lambda(found))


def _index(definitions: Iterable[FoundDefinition]) -> _Index:
    index: _Index = {}
    for found in definitions:
        for name, line in itertools.product(_code_names(found), first_lines(found.node)):
            index[name, line] = (*index.get((name, line), ()), found)
    return index


def _is_lambda(found: FoundDefinition) -> bool:
    return isinstance(found.node, ast.Lambda)


def _code_names(found: FoundDefinition) -> tuple[str, ...]:
    """The name of the function's code, and the one it has once it is rewritten."""
    if isinstance(found.node, ast.Lambda):
        return ("<lambda>",)
    return tuple({found.node.name: None, mangled(found.node.name, found.class_name): None})


@functools.lru_cache(maxsize=16)
def _parse(file: str, text: str) -> ast.AST:
    try:
        return ast.parse(text, file)
    except SyntaxError as error:
        raise SourceUnavailable(
            f"{file} does not parse: {error.msg}",
            fix="the file has changed since it was imported: import it again",
        ) from error


def _unavailable(code: types.CodeType, problem: str) -> SourceUnavailable:
    return SourceUnavailable(
        f"`{code.co_name}` ({code.co_filename}:{code.co_firstlineno}) {problem}",
        fix="define it with `def` in a file or a notebook cell, or mark it `not_to_static`",
    )
