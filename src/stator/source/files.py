"""Every function of a file, as the rewrite would be given it, without running the file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from stator.location import Location
from stator.source.block import Definition
from stator.source.nodes import copy_tree
from stator.source.text import Source


@dataclass(frozen=True)
class FoundFunction:
    """A function of a file: its dotted name, its tree, and the names of its decorators."""

    name: str  # `Decoder.forward`, `outer.inner`
    node: Definition
    decorators: tuple[str, ...]  # dotted, with what the file's imports call them undone
    source: Source

    @property
    def place(self) -> Location:
        """Where its `def` or `lambda` is."""
        return Location(self.source.file, self.node.lineno, self.node.col_offset, self.name)

    @property
    def is_generator(self) -> bool:
        """Has it a `yield` of its own?"""
        return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_parts(self.node))


@dataclass(frozen=True)
class File:
    """What is in a file: its functions, and the names given to `to_static` by a call."""

    functions: tuple[FoundFunction, ...]
    made_static: frozenset[str]


@dataclass(frozen=True)
class _Around:
    names: tuple[str, ...] = ()
    class_name: str | None = None
    functions: tuple[Definition, ...] = ()


def read_file(file: str, text: str) -> File:
    """The functions of `text`, the outer ones first; SyntaxError if it does not parse."""
    tree = ast.parse(text, file)
    imported = _imports(tree)
    lines = [f"{line}\n" for line in text.split("\n")]  # as Python counts them
    functions = tuple(
        FoundFunction(
            ".".join((*around.names, _name(node))),
            node,
            tuple(_dotted(item, imported) for item in getattr(node, "decorator_list", ())),
            _source(node, around, file, lines),
        )
        for node, around in _walk(tree, _Around())
    )
    return File(functions, frozenset(_made_static(tree, imported)))


def own_parts(node: ast.AST) -> Iterator[ast.AST]:
    """What is in `node`, without the insides of functions and classes nested in it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(
            child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
        ):
            yield from own_parts(child)


def _walk(tree: ast.AST, around: _Around) -> Iterator[tuple[Definition, _Around]]:
    for node in ast.iter_child_nodes(tree):
        inner = around
        if isinstance(node, ast.ClassDef):
            inner = _Around((*around.names, node.name), node.name, around.functions)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node, around
            functions = (*around.functions, node)
            inner = _Around((*around.names, _name(node)), around.class_name, functions)
        yield from _walk(node, inner)


def _name(node: Definition) -> str:
    return "<lambda>" if isinstance(node, ast.Lambda) else node.name


def _source(node: Definition, around: _Around, file: str, lines: list[str]) -> Source:
    segment = "".join(lines[node.lineno - 1 : node.end_lineno])
    return Source(copy_tree(node), segment, file, _name(node), around.class_name, around.functions)


def _imports(tree: ast.AST) -> dict[str, str]:
    """What each imported name means: `static` -> `stator.to_static`."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {item.asname: item.name for item in node.names if item.asname}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {item.asname or item.name: f"{node.module}.{item.name}" for item in node.names}
    return found


def _dotted(node: ast.AST, imported: dict[str, str]) -> str:
    """`stator.to_static` of `@to_static`, `@s.to_static` and `@stator.to_static(...)`."""
    if isinstance(node, ast.Call):
        return _dotted(node.func, imported)
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value, imported)}.{node.attr}"
    return imported.get(node.id, node.id) if isinstance(node, ast.Name) else ""


def _made_static(tree: ast.AST, imported: dict[str, str]) -> Iterator[str]:
    """The names that the file passes to `to_static`, and classes that it decorates or passes."""
    made = {
        target.id: node.value.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            names = [_dotted(decorator, imported) for decorator in node.decorator_list]
            yield from (node.name for name in names if name.endswith(".to_static"))
        if isinstance(node, ast.Call) and _dotted(node.func, imported).endswith(".to_static"):
            for given in node.args[:1]:
                name = _dotted(given, {})
                yield made.get(name, name)
