"""quote(): Python text with holes -> AST; staged(): a call of the staging object."""

from __future__ import annotations

import ast
import functools
import textwrap
from typing import Any

from stator.frames import STAGING
from stator.source.nodes import NodeT, children, copy_place, inner_fields

Filling = str | ast.expr | list[ast.stmt]
LOAD = ast.Load()


def quote(template: str, *, at: ast.AST, **holes: Filling) -> list[ast.stmt]:
    """Parse `template`, filling each UPPER_CASE name.

    A hole takes a name, an expression, or a list of statements. What the template itself
    adds is on the header line of `at`; what fills a hole keeps its own place, if it has one.

    >>> loop = ast.parse("while x: x -= 1").body[0]
    >>> print(ast.unparse(quote("if TEST: BODY", at=loop, TEST=loop.test, BODY=loop.body)))
    if x:
        x -= 1
    """
    tree, names = _parsed(template)
    if names != holes.keys():
        raise TypeError(f"template holes {sorted(names)} != fillings {sorted(holes)}")
    return _Filler(holes, at).block(tree.body)


@functools.cache
def _parsed(template: str) -> tuple[ast.Module, frozenset[str]]:
    """The tree of `template`, and the names of its holes."""
    tree = ast.parse(textwrap.dedent(template))
    words = (getattr(node, name, "") for node in ast.walk(tree) for name in ("id", "name", "arg"))
    return tree, frozenset(word for word in words if word and word.isupper())


def header_place(at: Any) -> dict[str, int]:
    """The first line of `at`, all of it or its start: else CPython reports a loop's last line."""
    if not hasattr(at, "lineno"):
        return {}
    end = (at.end_lineno, at.end_col_offset)
    line, column = (at.lineno, at.col_offset) if at.end_lineno != at.lineno else end
    return {
        "lineno": at.lineno, "col_offset": at.col_offset, "end_lineno": line,
        "end_col_offset": column,
    }  # fmt: skip


def staged(name: str, *arguments: ast.expr, at: ast.AST) -> ast.Call:
    """`stator__.name(*arguments)`, in the place of `at`."""
    staging = copy_place(ast.Name(STAGING, LOAD), at)
    function = copy_place(ast.Attribute(staging, name, LOAD), at)
    call = copy_place(ast.Call(function, [*arguments], []), at)
    for argument in arguments:
        if argument.__dict__.get("end_lineno") is None:
            copy_place(argument, at)
    return call


def constant(value: object, *, at: ast.AST) -> ast.Constant:
    """A literal, in the place of `at`."""
    node = ast.Constant(value)  # type: ignore[arg-type]  # any constant, tuples of names too
    return copy_place(node, at)


def is_staged(node: ast.AST) -> bool:
    """True for `stator__` and for `stator__.anything`: what rewriting itself wrote."""
    if isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id == STAGING


def preamble(body: list[ast.stmt]) -> int:
    """How many statements come first: the docstring and the declarations."""
    count = 0
    for node in body:
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not (isinstance(node, ast.Global | ast.Nonlocal) or text):
            break
        count += 1
    return count


class _Filler:
    """Copies a template to the header line of `at`, with its holes filled."""

    def __init__(self, holes: dict[str, Filling], at: ast.AST) -> None:
        self.holes = holes
        self.place = header_place(at)

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """A hole that is a whole statement takes a list of statements."""
        new: list[ast.stmt] = []
        for node in body:
            hole = node.value if isinstance(node, ast.Expr) else None
            filling = self.holes.get(hole.id) if isinstance(hole, ast.Name) else None
            if isinstance(filling, list):
                new.extend(map(self._placed, filling))
            else:
                new.append(self.copy(node))
        return new

    def _placed(self, node: NodeT) -> NodeT:
        """`node`; one that a pass has just made has no place yet, and its parts may have none."""
        if node.__dict__.get("end_lineno") is None:
            node.__dict__.update(self.place)
            for part in children(node):
                self._placed(part)
        return node

    def copy(self, node: Any) -> Any:
        cls = node.__class__
        filling = self.holes.get(node.id) if cls is ast.Name else None
        if isinstance(filling, ast.AST):
            return self._placed(filling)
        new = cls.__new__(cls)
        parts = new.__dict__
        parts.update(node.__dict__)
        if "lineno" in parts:  # then all of its place is there
            parts.update(self.place)
        if cls is ast.Name:
            if filling is not None:
                parts["id"] = filling
            return new
        if cls is ast.FunctionDef:
            parts["name"] = self._name(node.name)
        elif cls is ast.arg:
            parts["arg"] = self._name(node.arg)
        for name in inner_fields(cls):
            value = parts.get(name)
            if value.__class__ is list:
                parts[name] = self._copies(value)
            elif isinstance(value, ast.AST):
                parts[name] = self.copy(value)
        return new

    def _copies(self, values: list[Any]) -> list[Any]:
        if not values:
            return []
        if isinstance(values[0], ast.stmt):
            return self.block(values)
        return [self.copy(value) if isinstance(value, ast.AST) else value for value in values]

    def _name(self, name: str) -> str:
        filling = self.holes.get(name)
        return filling if isinstance(filling, str) else name
