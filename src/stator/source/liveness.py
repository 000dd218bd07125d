"""Which names are still wanted after a statement.

A walk backwards over a tree whose jumps are lowered. Inside a `try`, whatever a handler or the
`finally` wants is wanted at every point, since any statement may raise; inside a `with`,
whatever follows is, since the manager may swallow the exception.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from stator.source.definite import Exposure, deleted_names, exposure_of, target_names
from stator.source.nodes import FUNCTIONS, TestedFor, holds
from stator.source.scopes import uses_of

Names = frozenset[str]
NOTHING: Names = frozenset()


@dataclass(frozen=True)
class Liveness:
    """What is live around each `if` and each loop."""

    live_out: Mapping[ast.stmt, Names]  # after the statement
    live_inside: Mapping[ast.stmt, Names]  # where its branches or the body of a loop start


def liveness(body: list[ast.stmt]) -> Liveness:
    """The facts for a function with this `body`, whose jumps are lowered."""
    walk = _BackwardWalk()
    walk.block(body, NOTHING)
    return Liveness(MappingProxyType(walk.out), MappingProxyType(walk.inside))


class _BackwardWalk:
    """One backward walk; each method takes what is live after and gives what is before.

    A loop around another walks its body until nothing is added. What is live after an inner loop
    only grows meanwhile, so the inner one starts from what it found in the walk before.
    """

    def __init__(self) -> None:
        self.out: dict[ast.stmt, Names] = {}
        self.inside: dict[ast.stmt, Names] = {}
        self.on_error: Names = NOTHING  # live wherever the code around an exception goes on
        self.known: dict[ast.AST, Exposure] = {}

    def block(self, body: list[ast.stmt], live: Names) -> Names:
        for statement in reversed(body):
            live = live if self.on_error <= live else live | self.on_error
            self.out[statement] = live
            live = self.statement(statement, live)
        return live if self.on_error <= live else live | self.on_error

    def guarded(self, body: list[ast.stmt], live: Names, on_error: Names) -> Names:
        """A block of which any statement may go on at a point where `on_error` is live."""
        saved, self.on_error = self.on_error, self.on_error | on_error
        live = self.block(body, live)
        self.on_error = saved
        return live

    def statement(self, node: ast.stmt, live: Names) -> Names:
        if isinstance(node, ast.If):
            inside = self.block(node.body, live) | self.block(node.orelse, live)
            self.inside[node] = inside
            return self.before(node.test, inside)
        if isinstance(node, ast.While):
            return self._while(node, live)
        if isinstance(node, ast.For):
            return self._for(node, live)
        if isinstance(node, ast.Try):
            return self._try(node, live)
        if isinstance(node, ast.With):
            return self._with(node, live)
        return self._simple(node, live)

    def _simple(self, node: ast.stmt, live: Names) -> Names:
        if isinstance(node, ast.Raise | ast.Return):
            return self.before(node, NOTHING)
        if isinstance(node, ast.Delete):
            live -= frozenset(deleted_names([node]))
        return self.before(node, live)

    def _while(self, node: ast.While, live: Names) -> Names:
        """The test is evaluated before the loop and after each iteration: it may bind names."""
        inside = self.inside.get(node, NOTHING)
        head = self.before(node.test, live | inside)
        while not (found := self.block(node.body, head) | head) <= inside:
            inside |= found
            head = self.before(node.test, live | inside)
        self.inside[node] = inside
        return head

    def _for(self, node: ast.For, live: Names) -> Names:
        head = self.before(node.test, live) if isinstance(node, TestedFor) else live
        head |= self.inside.get(node, NOTHING)
        while (wider := head | self._iteration(node, head)) != head:
            head = wider
        self.inside[node] = head
        return self.before(node.iter, head)

    def _iteration(self, node: ast.For, head: Names) -> Names:
        inside = self.block(node.body, head) - frozenset(target_names(node.target))
        return inside | _target_reads(node.target)

    def _with(self, node: ast.With, live: Names) -> Names:
        inside = self.guarded(node.body, live, live)
        live = inside if inside <= live else self.guarded(node.body, live | inside, live | inside)
        self.inside[node] = NOTHING
        for item in reversed(node.items):
            if item.optional_vars is not None:
                live = live - frozenset(target_names(item.optional_vars))
                live |= _target_reads(item.optional_vars)
            self.inside[node] |= live  # what the body starts with, before it binds its targets
            live = self.before(item.context_expr, live)
        return live

    def _try(self, node: ast.Try, live: Names) -> Names:
        """What is live where a `try` starts is read again where it may raise, and where it ends."""
        inside = self._parts_of_try(node, live, NOTHING)
        if not inside <= live:
            inside = self._parts_of_try(node, live, inside)
        self.inside[node] = inside
        return inside

    def _parts_of_try(self, node: ast.Try, live: Names, held: Names) -> Names:
        """What is live before the body; `held` is live wherever a part ends."""
        final = self.block(node.finalbody, live | held) | held
        caught = final
        for handler in node.handlers:
            own = frozenset([handler.name] if handler.name else [])
            caught |= self.guarded(handler.body, final - own, final) - own
            caught |= self.before(handler.type, NOTHING) if handler.type else NOTHING
        after = self.guarded(node.orelse, final, final)
        return self.guarded(node.body, after, caught)

    def before(self, node: ast.expr | ast.stmt, live: Names) -> Names:
        """What is live before `node` is evaluated, if `live` is after."""
        if node not in self.known:
            self.known[node] = exposure_of(node)
        known = self.known[node]
        if not known.bound.isdisjoint(live):
            live -= known.bound
        return live if known.reads <= live else live | known.reads


def _target_reads(target: ast.expr) -> Names:
    """The names that storing to `target` reads."""
    return frozenset(uses_of([target]).read)


CAPTURING = frozenset((*FUNCTIONS, ast.ClassDef, ast.GeneratorExp))


def is_capturing(body: Sequence[ast.AST]) -> bool:
    """Is there a function, a class or a generator expression in `body`?"""
    return any(node.__class__ in CAPTURING for node in body) or holds(body, CAPTURING)


def all_captured(body: Iterable[ast.AST]) -> tuple[str, ...]:
    """The names that something made in `body` may read at any later time."""
    return uses_of(body).captured
