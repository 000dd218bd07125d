"""The names of a generator function as attributes of its frame: see `rewrite/machines.py`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from stator.errors import UnsupportedSyntax
from stator.rewrite.template import quote, staged
from stator.source.nodes import copy_tree

NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
Refusal = Callable[[ast.AST, str], UnsupportedSyntax]


class FrameNames(ast.NodeTransformer):
    """The generator's own names become attributes of its frame, and `return` says: it is over."""

    def __init__(self, names: frozenset[str], refused: Refusal, *, may_return: bool = True) -> None:
        self.names, self.refused, self.may_return = names, refused, may_return

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A name of the function's own is one of its frame."""
        if node.id not in self.names:
            return node
        frame = ast.Name("frame__", ast.Load())
        new = ast.Attribute(ast.copy_location(frame, node), f"v_{node.id}", node.ctx)
        return ast.copy_location(new, node)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """The generator is over, with a result."""
        if not self.may_return:
            raise self.refused(node, "a `return` inside a `try` with a `finally`")
        value = self.visit(node.value) if node.value else ast.Constant(None)
        return quote("return (True, None, VALUE)", at=node, VALUE=value)[0]

    def visit_For(self, node: ast.For) -> ast.AST:
        """The target is a name of the function: Stator's own `for` assigns names only."""
        self.generic_visit(node)
        if isinstance(node.target, ast.Name):
            return node
        item = ast.copy_location(ast.Name("target__", ast.Store()), node.target)
        node.body[0:0] = quote("TARGET = target__", at=node, TARGET=node.target)
        node.target = item
        return node

    def visit_With(self, node: ast.With) -> ast.AST:
        """What a manager gives is a name of the function first, as in `for`."""
        self.generic_visit(node)
        for item in node.items:
            if item.optional_vars is not None and not isinstance(item.optional_vars, ast.Name):
                target = item.optional_vars
                item.optional_vars = ast.copy_location(ast.Name("value__", ast.Store()), target)
                node.body[0:0] = quote("TARGET = value__", at=node, TARGET=target)
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        """The name of the error stays one of the function."""
        names = self.names - {node.name or ""}
        inner = FrameNames(names, self.refused, may_return=self.may_return)
        node.type = node.type and self.visit(node.type)
        found = [inner.visit(one) for one in node.body]
        node.body = [new for one in found for new in (one if isinstance(one, list) else [one])]
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        """`:=` cannot set an attribute."""
        if node.target.id not in self.names:
            return self.generic_visit(node)
        name = ast.Constant(f"v_{node.target.id}")
        frame, value = ast.Name("frame__", ast.Load()), self.visit(node.value)
        return staged("machine", ast.Constant("bound"), frame, name, value, at=node)

    def comprehension(self, node: ast.AST) -> ast.AST:
        """The targets of a comprehension are its own."""
        targets = {one.id for part in node.generators for one in ast.walk(part.target)  # type: ignore[attr-defined]
                   if isinstance(one, ast.Name)}  # fmt: skip
        inner = FrameNames(self.names - targets, self.refused)
        return ast.NodeTransformer.generic_visit(inner, node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comprehension

    def nested(self, node: ast.AST) -> ast.AST:
        """A function inside is converted as its author wrote it."""
        used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        if used & self.names or getattr(node, "name", "") in self.names:
            raise self.refused(node, "a function, with variables,")
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = nested


class Exchange(ast.NodeTransformer):
    """Puts one expression in the place of another."""

    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        """The other one, in the place of the one."""
        return self.new if node is self.old else self.generic_visit(node)


def read_of(target: ast.expr) -> ast.expr:
    """`target`, to be read."""
    new = copy_tree(target)
    new.ctx = ast.Load()  # type: ignore[attr-defined]
    return new


def leaves_loop(node: ast.AST) -> bool:
    """Has `node` a `break` or a `continue` of a loop around it?"""
    if isinstance(node, ast.Break | ast.Continue):
        return True
    if isinstance(node, (*NESTED, ast.expr)):
        return False
    if isinstance(node, ast.For | ast.While):
        return any(map(leaves_loop, node.orelse))
    return any(leaves_loop(child) for child in ast.iter_child_nodes(node))
