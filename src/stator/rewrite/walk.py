"""Walk: a transformer that stays in one function and can put statements before another.

Nested functions, lambdas and classes are not entered (they are converted when they are
called); only what is evaluated where they are made is. `hoist` puts a `def` before the
statement at hand: that is always safe, since a `def` evaluates nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, ClassVar

from stator.rewrite.job import Job
from stator.source.nodes import TestedFor, inner_fields

Method = Callable[[Any, Any], Any]
STATEMENTS: tuple[type[ast.AST], ...] = (
    ast.ExceptHandler, TestedFor, *ast.stmt.__subclasses__(),
)  # fmt: skip
OF_STATEMENTS = frozenset(f"visit_{kind.__name__}" for kind in STATEMENTS)


class OwnTransformer(ast.NodeTransformer):
    """Transforms the nodes of one function; functions and classes inside it stay as they are."""

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements that those of `body` become."""
        visited = [self.visit(one) for one in body]
        return [new for one in visited for new in (one if isinstance(one, list) else [one])]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A nested function is converted when it is called."""
        return node

    visit_Lambda = visit_ClassDef = visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]


class Walk:
    """The frame of a pass: subclasses add `visit_...` for what they rewrite."""

    _methods: ClassVar[dict[type[ast.AST], Method | None]]
    _enters_expressions: ClassVar[bool]

    def __init_subclass__(cls) -> None:
        cls._methods = {}  # by the class of a node; None: it stays as it is
        methods = {name for name in dir(cls) if name.startswith("visit_")}
        own = {name for name in methods if getattr(cls, name) is not getattr(Walk, name, None)}
        cls._enters_expressions = not own <= OF_STATEMENTS

    def __init__(self, job: Job) -> None:
        self.job = job
        self.hoisted: list[ast.stmt] = []

    def run(self, tree: ast.FunctionDef) -> ast.FunctionDef:
        """`tree` with its body rewritten; the signature stays."""
        tree.body = self.block(tree.body)
        return tree

    def hoist(self, *statements: ast.stmt) -> None:
        """Put `statements` before the statement that is being visited."""
        self.hoisted.extend(statements)

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The rewritten statements, each after what it hoisted."""
        new: list[ast.stmt] = []
        for statement in body:
            outer, self.hoisted = self.hoisted, []
            result = self.visit(statement)
            new.extend(self.hoisted)
            new.extend(result if isinstance(result, list) else [result] if result else [])
            self.hoisted = outer
        return new

    def expression(self, node: ast.expr) -> ast.expr:
        """The rewritten `node`."""
        new = self.visit(node)
        assert isinstance(new, ast.expr)
        return new

    def visit(self, node: ast.AST) -> Any:
        """`node` rewritten by the method for its class, if the pass has one."""
        cls = node.__class__
        try:
            method = self._methods[cls]
        except KeyError:
            method = self._methods[cls] = self._method(cls)
        return node if method is None else method(self, node)

    @classmethod
    def _method(cls, node: type[ast.AST]) -> Method | None:
        if issubclass(node, ast.expr) and not cls._enters_expressions:
            return None
        found: Method | None = getattr(cls, f"visit_{node.__name__}", None)
        return found or (cls.generic_visit if inner_fields(node) else None)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """`node` with its parts rewritten; blocks get what their statements hoist."""
        for name in inner_fields(node.__class__):
            value = getattr(node, name, None)
            if value.__class__ is list:
                if value and isinstance(value[0], ast.stmt):
                    setattr(node, name, self.block(value))
                elif value:
                    setattr(node, name, [self._child(item) for item in value])
            elif isinstance(value, ast.AST):
                new = self.visit(value)
                if new is not value:
                    setattr(node, name, new)
        return node

    def _child(self, item: object) -> object:
        return self.visit(item) if isinstance(item, ast.AST) else item

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A nested function: its decorators and defaults are evaluated here."""
        node.decorator_list = [self.expression(item) for item in node.decorator_list]
        self._defaults(node.args)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """A lambda: its defaults are evaluated here."""
        self._defaults(node.args)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """A class: its body runs as it is, its header is evaluated here."""
        node.decorator_list = [self.expression(item) for item in node.decorator_list]
        node.bases = [self.expression(item) for item in node.bases]
        for keyword in node.keywords:
            keyword.value = self.expression(keyword.value)
        return node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        """A generator that stays one runs later, as it is; its first iterable is taken now."""
        node.generators[0].iter = self.expression(node.generators[0].iter)
        return node

    def _defaults(self, arguments: ast.arguments) -> None:
        arguments.defaults = [self.expression(item) for item in arguments.defaults]
        arguments.kw_defaults = [item and self.expression(item) for item in arguments.kw_defaults]
