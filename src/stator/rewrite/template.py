"""quote(): Python text with holes -> AST; staged(): a call of the staging object."""

from __future__ import annotations

import ast
import textwrap

from stator.frames import STAGING

Filling = str | ast.expr | list[ast.stmt]


def quote(template: str, *, at: ast.AST, **holes: Filling) -> list[ast.stmt]:
    """Parse `template`, filling each UPPER_CASE name.

    A hole takes a name, an expression, or a list of statements. What the template itself
    adds stands on the header line of `at`; what fills a hole keeps its own place.

    >>> loop = ast.parse("while x: x -= 1").body[0]
    >>> print(ast.unparse(quote("if TEST: BODY", at=loop, TEST=loop.test, BODY=loop.body)))
    if x:
        x -= 1
    """
    tree = ast.parse(textwrap.dedent(template))
    for node in ast.walk(tree):
        put_at_header(node, at)
    filler = _Filler(holes)
    filler.visit(tree)
    if filler.seen != holes.keys():
        raise TypeError(f"template holes {sorted(filler.seen)} != fillings {sorted(holes)}")
    return tree.body


def put_at_header(node: ast.AST, at: ast.AST) -> None:
    """Place `node` on the first line of `at`: else CPython reports a loop's last line."""
    if not isinstance(node, ast.expr | ast.stmt | ast.arg | ast.keyword):
        return
    ast.copy_location(node, at)
    if node.end_lineno != node.lineno:
        node.end_lineno, node.end_col_offset = node.lineno, node.col_offset


def staged(name: str, *arguments: ast.expr, at: ast.AST) -> ast.Call:
    """`stator__.name(*arguments)`, in the place of `at`."""
    function = ast.Attribute(ast.Name(STAGING, ast.Load()), name, ast.Load())
    call = ast.Call(function, list(arguments), [])
    for node in (function.value, function, call):
        ast.copy_location(node, at)
    return call


def constant(value: object, *, at: ast.AST) -> ast.Constant:
    """A literal, in the place of `at`."""
    node = ast.Constant(value)  # type: ignore[arg-type]  # any constant, tuples of names too
    return ast.copy_location(node, at)


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


class _Filler(ast.NodeTransformer):
    def __init__(self, holes: dict[str, Filling]) -> None:
        self.holes = holes
        self.seen: set[str] = set()

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        """A hole standing alone as a statement takes a list of statements."""
        if isinstance(node.value, ast.Name):
            filling = self._fill(node.value.id)
            if isinstance(filling, list):
                return filling
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        filling = self._fill(node.id)
        if isinstance(filling, str):
            return ast.copy_location(ast.Name(filling, node.ctx), node)
        return filling if isinstance(filling, ast.AST) else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        filling = self._fill(node.name)
        node.name = filling if isinstance(filling, str) else node.name
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        filling = self._fill(node.arg)
        node.arg = filling if isinstance(filling, str) else node.arg
        return node

    def _fill(self, name: str) -> Filling | None:
        if not name.isupper():
            return None
        self.seen.add(name)
        return self.holes.get(name)
