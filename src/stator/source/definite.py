"""Which reads may meet a name that is not bound yet (definite assignment).

A walk in evaluation order over a tree whose jumps are lowered: `bound` holds the names that
are bound on every path to here. What follows a `raise` or a `return` is on no path, so there
every name counts as bound.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import final

from stator.source.contexts import is_staged_with
from stator.source.nodes import COMPREHENSIONS, Comprehension, TestedFor
from stator.source.scopes import (
    NameScope,
    bound_names,
    comprehension_inside,
    evaluated_children,
    own_nodes,
    own_statements,
    scope_of,
)

Names = frozenset[str]


@dataclass(frozen=True)
class Definite:
    """What is surely bound, and the reads of which that is not known."""

    bound_before: Mapping[ast.stmt, Names]
    unsure: frozenset[ast.Name]  # loads (and targets of `x += 1`) that may find nothing
    deleted: Names  # names that are unbound somewhere: `del x`, `except E as x`


def definite_assignment(body: list[ast.stmt], scope: NameScope) -> Definite:
    """The facts for a function with this `body`, whose jumps are lowered."""
    deleted_inside = frozenset(deleted_by_functions(body))
    walk = _ForwardWalk(frozenset(scope.locals), deleted_inside)
    walk.block(body, frozenset(scope.parameters))
    deleted = deleted_inside.union(deleted_names(body))
    return Definite(MappingProxyType(walk.before), frozenset(walk.unsure), deleted)


@dataclass(frozen=True)
class Exposure:
    """What evaluating something takes from before it, and what it surely leaves bound."""

    reads: Names
    bound: Names


@final
class _EveryName(frozenset[str]):
    """Holds any name; to list them it is empty."""

    def __contains__(self, name: object) -> bool:
        return True


EVERY_NAME = _EveryName()


def exposure_of(node: ast.expr | ast.stmt) -> Exposure:
    """The exposure of an expression or of a simple statement."""
    walk = _ForwardWalk(EVERY_NAME)
    if isinstance(node, ast.stmt):
        bound = walk.statement(node, frozenset())
    else:
        bound = walk.expression(node, frozenset())
    return Exposure(frozenset(item.id for item in walk.unsure), bound)


def deleted_names(trees: Iterable[ast.AST]) -> tuple[str, ...]:
    """The names that running `trees` may unbind."""
    found: dict[str, None] = {}
    for node in own_statements(trees):
        if isinstance(node, ast.Delete):
            names = (item for item in own_nodes([node]) if isinstance(item, ast.Name))
            found.update((item.id, None) for item in names if isinstance(item.ctx, ast.Del))
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found[node.name] = None
    return tuple(found)


DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def deleted_by_functions(trees: Iterable[ast.AST]) -> tuple[str, ...]:
    """The names of this function that functions nested in it may unbind, when they are called."""
    found: dict[str, None] = {}
    for node in own_statements(trees):
        if isinstance(node, DEFINITIONS):
            scope = scope_of(node)
            own = (name for name in deleted_names(node.body) if name in scope.nonlocals)
            deeper = (n for n in deleted_by_functions(node.body) if n not in scope.locals)
            found.update(dict.fromkeys((*own, *deeper)))
    return tuple(found)


LEAVING = (ast.Raise, ast.Return)


class _ForwardWalk:
    """One forward walk; each method takes what is bound before and gives what is after."""

    def __init__(self, names: Names, never_sure: Names = frozenset()) -> None:
        self.locals, self.never_sure = names, never_sure
        self.before: dict[ast.stmt, Names] = {}
        self.unsure: set[ast.Name] = set()

    def block(self, body: Iterable[ast.stmt], bound: Names) -> Names:
        for statement in body:
            self.before[statement] = bound
            bound = self.statement(statement, bound)
        return bound

    def statement(self, node: ast.stmt, bound: Names) -> Names:
        if isinstance(node, ast.If):
            bound = self.expression(node.test, bound)
            return self.block(node.body, bound) & self.block(node.orelse, bound)
        if isinstance(node, ast.While):
            return self._while(node, bound)
        if isinstance(node, ast.For):
            return self._for(node, bound)
        if isinstance(node, ast.Try):
            return self._try(node, bound)
        if isinstance(node, ast.With):
            return self._with(node, bound)
        return self._simple(node, bound)

    def _simple(self, node: ast.stmt, bound: Names) -> Names:
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self._read(node.target, bound)  # before the value, which may bind it
        for child in _in_order(node):
            bound = self.expression(child, bound)
        if isinstance(node, LEAVING):
            return self.locals
        if isinstance(node, ast.Delete):
            for name in (item for item in own_nodes([node]) if isinstance(item, ast.Name)):
                self._read(name, bound)
            return bound - frozenset(deleted_names([node]))
        return _with(bound, surely_bound(node))

    def _while(self, node: ast.While, bound: Names) -> Names:
        head = bound - frozenset(deleted_names([node]))
        tested = self.expression(node.test, head)
        self.block(node.body, tested)
        return tested

    def _for(self, node: ast.For, bound: Names) -> Names:
        bound = self.expression(node.iter, bound)
        head = bound - frozenset(deleted_names(node.body))
        if isinstance(node, TestedFor):
            head = self.expression(node.test, head)
        self.block(node.body, self._store(node.target, head))
        return head

    def _with(self, node: ast.With, bound: Names) -> Names:
        for item in node.items:
            bound = self.expression(item.context_expr, bound)
            if item.optional_vars is not None:
                bound = self._store(item.optional_vars, bound)
        after = self.block(node.body, bound)
        if is_staged_with(node):  # it may swallow what is raised in its body
            return bound - frozenset(deleted_names(node.body))
        return after

    def _store(self, target: ast.expr, bound: Names) -> Names:
        for part in _evaluated_in(target):
            bound = self.expression(part, bound)
        return _with(bound, target_names(target))

    def _try(self, node: ast.Try, bound: Names) -> Names:
        failed = bound - frozenset(deleted_names(node.body))
        after = self.block(node.orelse, self.block(node.body, bound))
        for handler in node.handlers:
            if handler.type is not None:
                self.expression(handler.type, failed)
            own = frozenset([handler.name] if handler.name else [])
            after &= self.block(handler.body, failed | own) - own
        before_final = bound - frozenset(deleted_names([*node.body, *node.handlers, *node.orelse]))
        final = self.block(node.finalbody, before_final)
        if node.finalbody and final >= self.locals > before_final:
            return self.locals
        return (after - frozenset(deleted_names(node.finalbody))) | (final - before_final)

    def expression(self, node: ast.AST, bound: Names) -> Names:
        """Evaluate `node`; what it binds for sure (`:=`) is bound after."""
        if isinstance(node, ast.Name):
            self._read(node, bound)
        elif isinstance(node, ast.Constant):
            return bound
        elif isinstance(node, ast.NamedExpr):
            return self.expression(node.value, bound) | frozenset(target_names(node.target))
        elif isinstance(node, ast.BoolOp):
            return self._maybe(node.values[1:], self.expression(node.values[0], bound))
        elif isinstance(node, ast.IfExp):
            bound = self.expression(node.test, bound)
            return self.expression(node.body, bound) & self.expression(node.orelse, bound)
        elif isinstance(node, ast.Compare):
            bound = self.expression(node.comparators[0], self.expression(node.left, bound))
            return self._maybe(node.comparators[1:], bound)
        elif isinstance(node, COMPREHENSIONS):
            return self._comprehension(node, bound)
        else:
            for child in evaluated_children(node):
                bound = self.expression(child, bound)
        return bound

    def _maybe(self, parts: Iterable[ast.expr], bound: Names) -> Names:
        """Parts evaluated one after the other, or not at all."""
        inside = bound
        for part in parts:
            inside = self.expression(part, inside)
        return bound

    def _comprehension(self, node: Comprehension, bound: Names) -> Names:
        bound = self.expression(node.generators[0].iter, bound)
        if not isinstance(node, ast.GeneratorExp):
            inside = bound | frozenset(bound_names(item.target for item in node.generators))
            for child in comprehension_inside(node):
                inside = self.expression(child, inside)
        return bound

    def _read(self, node: ast.Name, bound: Names) -> None:
        is_sure = node.id in bound and node.id not in self.never_sure
        if node.id in self.locals and not is_sure:
            self.unsure.add(node)


def _with(bound: Names, names: Iterable[str]) -> Names:
    """`bound` and `names`; the same set where nothing is new, since there is one per statement."""
    new = [name for name in names if name not in bound]
    return bound.union(new) if new else bound


def _in_order(node: ast.stmt) -> list[ast.AST]:
    """The parts of a simple statement that are evaluated, in order; plain targets left out."""
    if isinstance(node, ast.Assign):
        targets = [part for target in node.targets for part in _evaluated_in(target)]
        return [node.value, *targets]
    if isinstance(node, ast.AugAssign):
        return [*_evaluated_in(node.target), node.value]
    if isinstance(node, ast.AnnAssign):
        return [*([node.value] if node.value else []), *_evaluated_in(node.target)]
    if isinstance(node, ast.Delete):
        return [part for target in node.targets for part in _evaluated_in(target)]
    return evaluated_children(node)


def _evaluated_in(target: ast.expr) -> list[ast.AST]:
    """The expressions that storing to `target` evaluates."""
    if isinstance(target, ast.Name):
        return []
    if isinstance(target, ast.Attribute):
        return [target.value]
    if isinstance(target, ast.Subscript):
        return [target.value, target.slice]
    if isinstance(target, ast.Starred):
        return _evaluated_in(target.value)
    if isinstance(target, ast.Tuple | ast.List):
        return [part for item in target.elts for part in _evaluated_in(item)]
    return []


def surely_bound(node: ast.stmt) -> tuple[str, ...]:
    """The names that a simple statement binds when it does not fail, `:=` left out."""
    if isinstance(node, ast.Assign):
        return tuple(name for target in node.targets for name in target_names(target))
    if isinstance(node, ast.AugAssign) or (isinstance(node, ast.AnnAssign) and node.value):
        return target_names(node.target)
    if isinstance(node, ast.Import | ast.ImportFrom):
        return bound_names([node])
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return (node.name,)
    return ()


def target_names(target: ast.expr) -> tuple[str, ...]:
    """The plain names that storing to `target` binds."""
    if isinstance(target, ast.Name):
        return (target.id,)
    if isinstance(target, ast.Starred):
        return target_names(target.value)
    if isinstance(target, ast.Tuple | ast.List):
        return tuple(name for item in target.elts for name in target_names(item))
    return ()
