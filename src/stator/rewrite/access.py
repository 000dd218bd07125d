"""Attributes, subscripts, slices and displays -> staging calls.

obj.name        stator__.get(obj, "name")
a[i, 1:n]       stator__.getitem(a, (i, stator__.slice(1, n, None)))
[x, *y]         stator__.new_list((x, stator__.spread(y)))
{k: v, **d}     stator__.new_dict((k, v), (d,))
"""

from __future__ import annotations

import ast
from typing import Any

from stator.rewrite.job import Job
from stator.rewrite.template import constant, is_staged, staged
from stator.rewrite.walk import Walk

CONSTANT_PARTS = (ast.Constant, ast.Tuple, ast.UnaryOp, ast.USub, ast.UAdd, ast.Load)


def rewrite_access(tree: ast.FunctionDef, job: Job) -> ast.FunctionDef:
    """`tree` with its loads of attributes and items made by staging calls."""
    return _Access(job).run(tree)


def rewrite_displays(tree: ast.FunctionDef, job: Job) -> ast.FunctionDef:
    """`tree` with its list, dict and set displays made by staging calls."""
    return _Displays(job).run(tree)


def freeze_iterated_sets(tree: ast.FunctionDef, job: Job) -> ast.FunctionDef:
    """`tree` with a frozenset where it iterates over a set of constants, as Python does."""
    return _IteratedSets(job).run(tree)


class _Access(Walk):
    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if is_staged(node):
            return node
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return staged("get", node.value, constant(node.attr, at=node), at=node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return staged("getitem", node.value, node.slice, at=node)

    def visit_Slice(self, node: ast.Slice) -> ast.AST:
        self.generic_visit(node)
        parts = (node.lower, node.upper, node.step)
        return staged("slice", *(part or constant(None, at=node) for part in parts), at=node)


class _Displays(Walk):
    def visit_List(self, node: ast.List) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return staged("new_list", _items(node), at=node)

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and any(isinstance(e, ast.Starred) for e in node.elts):
            return staged("new_tuple", _items(node), at=node)
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        self.generic_visit(node)
        entries = [
            ast.copy_location(
                ast.Tuple([value] if key is None else [key, value], ast.Load()), value
            )
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        return staged("new_dict", *entries, at=node)

    def visit_Set(self, node: ast.Set) -> ast.AST:
        constants = _constants(node)
        if constants is not None:  # Python makes such a set of a frozenset: the order shows it
            kept: list[ast.expr] = [constant(value, at=node) for value in constants]
            return staged("new_set", ast.copy_location(ast.Set(kept), node), at=node)
        self.generic_visit(node)
        return staged("new_set", _items(node), at=node)


class _IteratedSets(Walk):
    """`for x in {1, 2}`: Python iterates over a frozenset, which has an order of its own."""

    def visit_For(self, node: ast.For) -> ast.AST:
        node.iter = _frozen(node.iter)
        return self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        node.iter = _frozen(node.iter)
        return self.generic_visit(node)


def _frozen(node: ast.expr) -> ast.expr:
    constants = _constants(node) if isinstance(node, ast.Set) else None
    return node if constants is None else constant(frozenset(constants), at=node)


def _constants(node: ast.Set) -> list[Any] | None:
    """The items of a set display, if Python knows them all before it runs."""
    parts = [part for item in node.elts for part in ast.walk(item)]
    if not all(isinstance(part, CONSTANT_PARTS) for part in parts):
        return None
    try:
        return [ast.literal_eval(item) for item in node.elts]
    except ValueError:  # `-"a"`
        return None


def _items(node: ast.List | ast.Tuple | ast.Set) -> ast.expr:
    """What a display holds: staging takes a `*E` apart."""
    items = [_spread(item) for item in node.elts]
    return ast.copy_location(ast.Tuple(items, ast.Load()), node)


def _spread(node: ast.expr) -> ast.expr:
    return staged("spread", node.value, at=node) if isinstance(node, ast.Starred) else node
