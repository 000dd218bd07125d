"""with_visible_names(): every piece of a function sees all its names, as a debugger shows them.

    def body_1__():            def body_1__():
        nonlocal n                 nonlocal n, stator__, steps, total, x
        n = n // 2                 nonlocal n
                                   n = n // 2

A function has the free names that it uses, and a debugger that stops there shows no others. What
is declared `nonlocal` counts as used, and costs nothing. It is done to what is compiled alone:
`.code` shows the function without.
"""

from __future__ import annotations

import ast
import copy
import re

from stator.frames import STAGING
from stator.source.scopes import scope_of

PIECE = re.compile(r"(body|orelse|final|handler|test|comp|thunk)_\d+(_\d+)?__")


def with_visible_names(tree: ast.FunctionDef) -> ast.FunctionDef:
    """A copy of `tree` whose pieces declare the names of the user's around them."""
    new = copy.deepcopy(tree)
    _declare(new, _users_names(new))
    return new


def _declare(function: ast.FunctionDef, visible: frozenset[str]) -> None:
    for node in _pieces_in(function):
        own = scope_of(node)
        bound = frozenset(own.locals)
        names = sorted({STAGING, *(visible - bound - frozenset(own.globals))})
        _declare(node, visible | _users_names(node))
        node.body.insert(0, ast.copy_location(ast.Nonlocal(names), node))


def _pieces_in(function: ast.FunctionDef) -> list[ast.FunctionDef]:
    """The pieces that are in `function` itself, not in a function of the user's inside it."""
    found: list[ast.FunctionDef] = []
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef):
            found += [node] if PIECE.fullmatch(node.name) else []
        elif not isinstance(node, ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))
    return found


def _users_names(function: ast.FunctionDef) -> frozenset[str]:
    return frozenset(name for name in scope_of(function).locals if not name.endswith("__"))
