"""A definition -> the plain function that the passes work on.

Decorators go (they are not applied again), a lambda becomes a `def`, and `global` and
`nonlocal` move to the top, since they hold for the whole function wherever they are.
"""

from __future__ import annotations

import ast

from stator.rewrite.template import quote
from stator.rewrite.walk import OwnTransformer
from stator.source.block import Definition
from stator.source.scopes import own_statements


def as_function(node: Definition) -> ast.FunctionDef:
    """`node` as an undecorated `def`."""
    if isinstance(node, ast.Lambda):
        return _from_lambda(node)
    assert isinstance(node, ast.FunctionDef)
    node.decorator_list = []
    if not any(isinstance(one, ast.Global | ast.Nonlocal) for one in own_statements(node.body)):
        return node
    lifter = _Lifter()
    body = lifter.statements(node.body)
    start = 1 if ast.get_docstring(node, clean=False) is not None else 0
    node.body = [*body[:start], *lifter.declarations, *body[start:]]
    return node


def _from_lambda(node: ast.Lambda) -> ast.FunctionDef:
    value = ast.copy_location(ast.Return(node.body), node.body)
    (new,) = quote("def lambda__(): BODY", at=node, BODY=[value])
    assert isinstance(new, ast.FunctionDef)
    new.args = node.args
    return new


class _Lifter(OwnTransformer):
    def __init__(self) -> None:
        self.declarations: list[ast.stmt] = []

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> ast.stmt:
        self.declarations.append(node)
        return ast.copy_location(ast.Pass(), node)

    visit_Nonlocal = visit_Global
