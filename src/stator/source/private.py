"""`__name` inside a class -> `_Class__name`.

CPython mangles private names when it compiles a class body. A rewritten method is compiled
outside of its class, so the mangling is done here.
"""

from __future__ import annotations

import ast

from stator.source.nodes import Function, nodes_in


def mangle(tree: Function, class_name: str | None) -> Function:
    """`tree` with the private names it would have inside `class_name`."""
    if class_name is None or not any(map(_may_be_private, nodes_in(tree))):
        return tree
    mangler = _Mangler(class_name)
    for child in ast.iter_child_nodes(tree):
        mangler.visit(child)
    return tree


def mangled(name: str, class_name: str | None) -> str:
    """`name` as CPython spells it inside `class_name`.

    >>> mangled("__hidden", "_Layer"), mangled("__init__", "Layer"), mangled("__x", "_")
    ('_Layer__hidden', '__init__', '__x')
    """
    stem = (class_name or "").lstrip("_")
    private = name.startswith("__") and not name.endswith("__") and "." not in name
    return f"_{stem}{name}" if private and stem else name


def _may_be_private(node: ast.AST) -> bool:
    """Has `node` a name that starts with two underscores? Few functions have one."""
    parts = node.__dict__
    name = parts.get("id") or parts.get("attr") or parts.get("arg") or parts.get("name")
    if isinstance(node, ast.Global | ast.Nonlocal | ast.alias):
        return True
    return isinstance(name, str) and name.startswith("__") and not name.endswith("__")


class _Mangler(ast.NodeVisitor):
    """Changes names in place; keywords of calls stay, as CPython has it."""

    def __init__(self, class_name: str) -> None:
        self.class_name = class_name

    def _mangled(self, name: str) -> str:
        return mangled(name, self.class_name)

    def visit_Name(self, node: ast.Name) -> None:
        node.id = self._mangled(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        node.attr = self._mangled(node.attr)
        self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> None:
        node.arg = self._mangled(node.arg)
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        node.name = self._mangled(node.name)
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        node.name = node.name and self._mangled(node.name)
        self.generic_visit(node)

    def visit_alias(self, node: ast.alias) -> None:
        bound = node.asname or node.name
        if self._mangled(bound) != bound:
            node.asname = self._mangled(bound)

    def visit_Global(self, node: ast.Global) -> None:
        node.names = [self._mangled(name) for name in node.names]

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        node.names = [self._mangled(name) for name in node.names]

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """The body of an inner class belongs to that class, and CPython mangles it."""
        node.name = self._mangled(node.name)
        for child in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(child)
