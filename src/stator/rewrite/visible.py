"""visible_names(): every piece of a function sees all its names, as a debugger shows them.

    def body_1__():            def body_1__():
        nonlocal n                 nonlocal stator__, steps, total, x
        n = n // 2                 nonlocal n
                                   n = n // 2

A function has the free names that it uses, and a debugger that stops there shows no others. What
is declared `nonlocal` counts as used. The declarations are there while the tree is compiled;
`.code` shows the function without. Their number is that of the pieces times that of the names, so a
function that has many of both goes without: its pieces show the names that they use.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterator

from stator.frames import STAGING
from stator.source.nodes import copy_place
from stator.source.scopes import NameScope, own_statements, scope_of

MOST = 2_000  # declarations
PIECE = re.compile(r"(body|orelse|final|handler|test|comp|thunk)_\d+(_\d+)?__")


@contextlib.contextmanager
def visible_names(tree: ast.FunctionDef) -> Iterator[None]:
    """Inside, the pieces of `tree` declare the names of the user's around them."""
    pieces: list[ast.FunctionDef] = []
    inside = _pieces_in(tree)
    names = _users_names(scope_of(tree)) if inside else frozenset()
    try:
        if len(inside) * len(names) <= MOST:
            _declare(inside, names, pieces)
        yield
    finally:
        for node in pieces:
            del node.body[0]


def _declare(
    inside: list[ast.FunctionDef], visible: frozenset[str], pieces: list[ast.FunctionDef]
) -> None:
    for node in inside:
        first, deeper = node.body[0], _pieces_in(node)
        hidden = visible.difference(first.names) if isinstance(first, ast.Nonlocal) else visible
        if hidden or deeper:
            own = scope_of(node)
            hidden = hidden.difference(own.locals, own.globals)
            _declare(deeper, visible | _users_names(own), pieces)
        node.body.insert(0, copy_place(ast.Nonlocal(sorted({STAGING, *hidden})), node))
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
