"""All that is known of one function, and the state of each staged statement.

The state of an `if` or a loop is what it changes and somebody still wants: the names it
assigns that are live after it, or live where a branch or an iteration starts.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeGuard

from stator.source.contexts import is_staged_with
from stator.source.definite import (
    Definite,
    definite_assignment,
    deleted_by_functions,
    deleted_names,
)
from stator.source.liveness import Liveness, all_captured, is_capturing, liveness
from stator.source.nodes import Function, TestedFor
from stator.source.scopes import (
    BoundNames,
    NameScope,
    bound_names,
    nonlocals_inside,
    own_nodes,
    own_statements,
    parameter_names,
    scope_of,
)

STAGED = (ast.If, ast.While, ast.For, ast.Try)


def is_staged(node: ast.AST) -> TypeGuard[ast.stmt]:
    """Does `node` move into functions of its own: a branch, a loop, a `try`, most of `with`?"""
    return isinstance(node, STAGED) or (isinstance(node, ast.With) and is_staged_with(node))


@dataclass(frozen=True)
class Facts:
    """The facts of one function whose jumps are lowered."""

    scope: NameScope
    state: Mapping[ast.stmt, tuple[str, ...]]  # of each staged statement, in a fixed order
    dead: Mapping[ast.stmt, tuple[str, ...]]  # the part of an `if`'s state unused after it
    tracked: frozenset[str]  # names that may hold `undefined` instead of being unbound
    initialised: tuple[str, ...]  # the tracked names that the function's top must define
    unsure: frozenset[ast.Name]  # reads that may find an undefined name
    shared: frozenset[str]  # names that nested functions assign


# what neither branches nor leaves early, and binds names only where it stands
STRAIGHT = frozenset(
    (
        ast.Assign, ast.AugAssign, ast.Expr, ast.Return, ast.Pass, ast.Name, ast.Constant,
        ast.Attribute, ast.Subscript, ast.Slice, ast.Call, ast.keyword, ast.BinOp, ast.UnaryOp,
        ast.BoolOp, ast.Compare, ast.IfExp, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.Starred,
        ast.JoinedStr, ast.FormattedValue, *ast.operator.__subclasses__(),
        *ast.unaryop.__subclasses__(), *ast.boolop.__subclasses__(), *ast.cmpop.__subclasses__(),
    )
)  # fmt: skip


def is_straight(body: list[ast.stmt], kinds: frozenset[type[ast.AST]]) -> bool:
    """Does a `body` with nodes of these `kinds` run from its first statement to its last?"""
    return kinds <= STRAIGHT and not any(node.__class__ is ast.Return for node in body[:-1])


def straight_facts(scope: NameScope) -> Facts:
    """The facts of a function that runs straight: none of its names is in a state."""
    return Facts(scope, NONE, NONE, frozenset(), (), frozenset(), frozenset())


NONE: Mapping[ast.stmt, tuple[str, ...]] = MappingProxyType({})


def study(tree: ast.FunctionDef, original: NameScope) -> Facts:
    """The facts of `tree`, the lowered form of a function whose scope was `original`."""
    return _Study(tree, original).facts()


class _Study:
    def __init__(self, tree: ast.FunctionDef, original: NameScope) -> None:
        self.body = tree.body
        self.scope = _with_dropped(scope_of(tree), original)
        self.staged = tuple(node for node in own_statements(self.body) if is_staged(node))
        self.bound = BoundNames()
        has_inner = is_capturing(self.body)
        self.shared = frozenset(nonlocals_inside(self.body) if has_inner else ())
        outer = (*self.scope.globals, *self.scope.nonlocals)
        flat = {*self.scope.parameters, *bound_names(flat_parts(self.body))}
        deleted = {*deleted_by_functions(self.body)} if has_inner else set()
        own = {*self.scope.locals}
        self.not_flat = frozenset((own - flat) | (own & deleted))  # not only the top binds them
        self.always = frozenset((*(all_captured(self.body) if has_inner else ()), *outer))

    def facts(self) -> Facts:
        if not (self.staged or self.not_flat):  # then no name may hold `undefined`
            return Facts(self.scope, NONE, NONE, frozenset(), (), frozenset(), self.shared)
        definite = definite_assignment(self.body, self.scope)
        live = liveness(self.body if self.staged else [])  # only what is staged has a state
        state: dict[ast.stmt, tuple[str, ...]]
        state = {node: self._state(node, live) for node in self.staged}
        tracked = self._tracked(state, definite)
        fresh = tuple(sorted(tracked - {*self.scope.parameters}))
        return Facts(
            self.scope, MappingProxyType(state), MappingProxyType(self._dead(state, live)),
            tracked, fresh, definite.unsure, self.shared,
        )  # fmt: skip

    def _state(self, node: ast.stmt, live: Liveness) -> tuple[str, ...]:
        wanted = (live.live_out[node], live.live_inside[node], self.always)
        return tuple(sorted(n for n in self._assigned(node) if any(n in part for part in wanted)))

    def _assigned(self, node: ast.stmt) -> set[str]:
        """What `node` assigns once its branches or iterations run."""
        names = {*self.bound.of(moved_parts(node)), *self._assigned_by_calls(node)}
        if isinstance(node, ast.Try):
            names |= {one.name for one in node.handlers if one.name} & self.kept_names
        return names

    @functools.cached_property
    def kept_names(self) -> frozenset[str]:
        """The names that are bound by more than the `as` of handlers."""
        stored = {
            node.id
            for node in own_nodes(self.body)
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
        }
        scope = self.scope
        return frozenset({*stored, *scope.parameters, *scope.globals, *scope.nonlocals})

    def _assigned_by_calls(self, node: ast.stmt) -> frozenset[str]:
        """What functions that are nested in the function assign, if `node` calls anything."""
        if not self.shared:
            return frozenset()
        calls = any(isinstance(inner, ast.Call) for inner in own_nodes(moved_parts(node)))
        own = {*self.scope.locals, *self.scope.globals, *self.scope.nonlocals}
        return self.shared & own if calls else frozenset()

    def _dead(
        self, state: Mapping[ast.stmt, tuple[str, ...]], live: Liveness
    ) -> dict[ast.stmt, tuple[str, ...]]:
        return {
            node: tuple(n for n in names if n not in live.live_out[node] and n not in self.always)
            for node, names in state.items()
            if isinstance(node, ast.If)
        }

    def _tracked(
        self, state: Mapping[ast.stmt, tuple[str, ...]], definite: Definite
    ) -> frozenset[str]:
        found = {
            name
            for node, names in state.items()
            for name in names
            if name not in definite.bound_before.get(node, ()) or name in definite.deleted
        }
        return self.not_flat.union(found.intersection(self.scope.locals))


def unsure_names(enclosing: Iterable[Function]) -> frozenset[str]:
    """The names in the scopes of `enclosing`, outermost first, that may hold `undefined`.

    Those are among the names that some branch or loop assigns, or that are deleted.
    """
    unsure: set[str] = set()
    for function in enclosing:
        body = function.body if isinstance(function.body, list) else [function.body]
        staged = [node for node in own_statements(body) if is_staged(node)]
        bound = BoundNames()
        moved = {name for node in staged for name in bound.of([node])}
        own = {*scope_of(function).locals}
        flat = {*parameter_names(function.args), *bound_names(flat_parts(body))}
        deleted = {*deleted_names(body), *deleted_by_functions(body)}
        unsure = (unsure - own) | (own & (moved | deleted)) | (own - flat)
    return frozenset(unsure)


def _with_dropped(scope: NameScope, original: NameScope) -> NameScope:
    """`scope` with the locals whose assignments were dead code and were removed."""
    outer = {*scope.globals, *scope.nonlocals}
    dropped = (name for name in original.locals if name not in outer)
    every = tuple(dict.fromkeys((*scope.locals, *dropped)))
    return NameScope(scope.parameters, every, scope.globals, scope.nonlocals)


def moved_parts(node: ast.stmt) -> list[ast.AST]:
    """The parts of a staged statement that move into functions of their own."""
    if isinstance(node, ast.If):
        return [*node.body, *node.orelse]
    if isinstance(node, ast.Try):
        handled = [line for handler in node.handlers for line in handler.body]
        return [*node.body, *handled, *node.orelse, *node.finalbody]
    if isinstance(node, ast.With):
        targets = [item.optional_vars for item in node.items if item.optional_vars is not None]
        return [*targets, *node.body]
    if isinstance(node, ast.While):
        return [node.test, *node.body]
    if isinstance(node, TestedFor):
        return [node.target, *node.body, node.test]
    if isinstance(node, ast.For):
        return [node.target, *node.body]
    return []


def flat_parts(body: Iterable[ast.AST]) -> Iterable[ast.AST]:
    """The statements that stay in the function's own body: those outside branches and loops."""
    for node in body:
        if isinstance(node, ast.With) and not is_staged_with(node):
            yield from (item.optional_vars for item in node.items if item.optional_vars)
            yield from flat_parts(node.body)
        elif isinstance(node, ast.Assign):
            yield from node.targets
        elif isinstance(node, ast.AugAssign) or (isinstance(node, ast.AnnAssign) and node.value):
            yield node.target
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
            yield node
