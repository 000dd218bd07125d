"""Names that may be undefined -> a value that says so.

    if c:               x = stator__.undefined("x")
        x = 1           if c: x = 1
    return x            return stator__.read(x)

The state of a branch or a loop is read and written as a whole, so a name in it must hold
something even where Python has it unbound. Only such names are touched, and only those reads
that may really come too early. A nested function finds such values in its cells, so its reads
of the names that its surroundings may leave undefined are checked too.
"""

from __future__ import annotations

import ast
import sys

from stator.rewrite.job import Job
from stator.rewrite.template import constant, is_staged, preamble, quote, staged
from stator.rewrite.walk import Walk
from stator.source.nodes import Comprehension, Search
from stator.source.scopes import own_statements

UNBINDING = """
try:
    BODY
finally:
    END
"""


def rewrite_names(tree: ast.FunctionDef, job: Job) -> ast.FunctionDef:
    """`tree` with its undefined names defined, and checked where they are read."""
    deletes = any(isinstance(node, ast.Delete) for node in own_statements(tree.body))
    if not (deletes or job.facts.tracked or job.unsure_outside):
        return tree
    return _ReadRewriter(job).run(tree)


def define(name: str, *, at: ast.AST) -> list[ast.stmt]:
    """`name = stator__.undefined("name")`."""
    return quote(
        "NAME = stator__.undefined(TEXT)", at=at, NAME=name, TEXT=constant(name, at=at)
    )  # fmt: skip


def read_name(node: ast.Name, job: Job, *, is_inside: bool = False) -> ast.expr:
    """The value of the name `node`, checked if it may be undefined there.

    Python reads it in a function that `is_inside` the one that binds it, which its error says.
    """
    name = ast.copy_location(ast.Name(node.id, ast.Load()), node)
    unsure = node in job.facts.unsure and node.id in job.facts.tracked
    outside = node.id in job.unsure_outside and node.id not in job.facts.scope.locals
    if unsure and not is_inside:
        return staged("read", name, at=node)
    outside = outside or unsure
    return staged("read_outer", name, at=node) if outside else name


class _ReadRewriter(Walk):
    is_inside = False  # in a comprehension that Python makes a function of

    def run(self, tree: ast.FunctionDef) -> ast.FunctionDef:
        tree = super().run(tree)
        known = [line for name in self.job.facts.initialised for line in define(name, at=tree)]
        start = preamble(tree.body)
        tree.body = [*tree.body[:start], *known, *tree.body[start:]]
        return tree

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if not isinstance(node.ctx, ast.Load):
            return node
        return read_name(node, self.job, is_inside=self.is_inside)

    def visit_Search(self, node: Comprehension) -> ast.AST:
        """Its first iterable is evaluated outside of its function."""
        outer, first = self.is_inside, node.generators[0]
        first_iter = self.expression(first.iter)
        first.iter, self.is_inside = ast.copy_location(ast.Constant(None), first.iter), True
        self.generic_visit(node)
        first.iter, self.is_inside = first_iter, outer
        return node

    visit_TakenWhole = visit_Search
    if sys.version_info < (3, 12):  # later versions run a comprehension where it stands
        visit_ListComp = visit_SetComp = visit_DictComp = visit_Search

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A comprehension's function holds reads that are checked already; a search does not."""
        is_search = bool(node.args) and isinstance(node.args[0], Search)
        return node if is_staged(node.func) and not is_search else self.generic_visit(node)

    def visit_Delete(self, node: ast.Delete) -> list[ast.stmt]:
        """`del` of a tracked name leaves it undefined; the others stay."""
        new: list[ast.stmt] = []
        for target in _flat(node.targets):
            if isinstance(target, ast.Name) and self._may_be_undefined(target.id):
                found = read_name(target, self.job)
                if isinstance(found, ast.Call):  # a checked read: `del` of what is not there raises
                    new.append(ast.copy_location(ast.Expr(found), node))
                new.extend(define(target.id, at=node))
            else:
                new.append(ast.copy_location(ast.Delete([self.expression(target)]), node))
        return new

    def _may_be_undefined(self, name: str) -> bool:
        facts = self.job.facts
        is_outside = name in self.job.unsure_outside and name not in facts.scope.locals
        return name in facts.tracked or is_outside

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        """Python unbinds `e` after `except E as e`; a tracked one becomes undefined."""
        self.generic_visit(node)
        if node.name in self.job.facts.tracked:
            name, node.name = node.name, self.job.fresh.name("error")
            assert name is not None
            start = quote("NAME = ERROR", at=node, NAME=name, ERROR=node.name)
            node.body = [
                *start,
                *quote(UNBINDING, at=node, BODY=node.body, END=define(name, at=node)),
            ]
        return node


def _flat(targets: list[ast.expr]) -> list[ast.expr]:
    """The targets of a `del`, tuples opened."""
    flat: list[ast.expr] = []
    for target in targets:
        inner = target.elts if isinstance(target, ast.Tuple | ast.List) else None
        flat.extend([target] if inner is None else _flat(inner))
    return flat
