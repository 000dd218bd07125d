"""visible_names(): every piece of a function sees all its names, as a debugger shows them.

    def body_1__():            def body_1__():
        nonlocal n                 nonlocal n, stator__, steps, total, x
        n = n // 2                 nonlocal n
                                   n = n // 2

A function has the free names that it uses, and a debugger that stops there shows no others. What
is declared `nonlocal` counts as used, and costs nothing. The declarations are there while the tree
is compiled; `.code` shows the function without.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterator

from stator.frames import STAGING
from stator.source.scopes import NameScope, own_statements, scope_of

PIECE = re.compile(r"(body|orelse|final|handler|test|comp|thunk)_\d+(_\d+)?__")


@contextlib.contextmanager
def visible_names(tree: ast.FunctionDef) -> Iterator[None]:
    """Inside, the pieces of `tree` declare the names of the user's around them."""
    pieces: list[ast.FunctionDef] = []
    inside = _pieces_in(tree)
    try:
        if inside:
            _declare(inside, _users_names(scope_of(tree)), pieces)
        yield
    finally:
        for node in pieces:
            del node.body[0]


def _declare(
    inside: list[ast.FunctionDef], visible: frozenset[str], pieces: list[ast.FunctionDef]
) -> None:
    for node in inside:
        own = scope_of(node)
        bound = frozenset(own.locals)
        names = sorted({STAGING, *(visible - bound - frozenset(own.globals))})
        _declare(_pieces_in(node), visible | _users_names(own), pieces)
        node.body.insert(0, ast.copy_location(ast.Nonlocal(names), node))
        pieces.append(node)


def _pieces_in(function: ast.FunctionDef) -> list[ast.FunctionDef]:
    """The pieces that are in `function` itself, not in a function of the user's inside it."""
    found: list[ast.FunctionDef] = []
    for node in own_statements(function.body):
        if isinstance(node, ast.FunctionDef) and PIECE.fullmatch(node.name):
            found.append(node)
    return found


def _users_names(scope: NameScope) -> frozenset[str]:
    return frozenset(name for name in scope.locals if not name.endswith("__"))
