"""The pass that stages control flow: branches and loops, the innermost first."""

from __future__ import annotations

import ast

from stator.rewrite.branches import rewrite_if
from stator.rewrite.contexts import rewrite_with
from stator.rewrite.exceptions import AssignedNames, rewrite_finally, rewrite_try
from stator.rewrite.job import Job
from stator.rewrite.loops import rewrite_for, rewrite_while
from stator.rewrite.walk import Walk
from stator.source.facts import moved_parts
from stator.source.scopes import BoundNames


def rewrite_control(tree: ast.FunctionDef, job: Job) -> ast.FunctionDef:
    """`tree` with its branches and loops made by staging calls."""
    return _Control(job).run(tree)


class _Control(Walk):
    """Numbers and names are taken on the way down, since rewriting hides what is inside."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self.bound_names = BoundNames().of

    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        number = self.job.fresh.number("block")
        assigned = self.bound_names(node.body), self.bound_names(node.orelse)
        self.generic_visit(node)
        return rewrite_if(node, self.job, number, assigned)

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        number = self.job.fresh.number("block")
        assigned = self.bound_names([node.test]), self.bound_names(node.body)
        self.generic_visit(node)
        return rewrite_while(node, self.job, number, assigned)

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        number = self.job.fresh.number("block")
        assigned = self.bound_names(node.body)
        self.generic_visit(node)
        return rewrite_for(node, self.job, number, assigned)

    visit_TestedFor = visit_For

    def visit_Try(self, node: ast.Try) -> ast.AST | list[ast.stmt]:
        if node not in self.job.facts.state:  # made by a pass: it unbinds the `e` of a handler
            self.generic_visit(node)
            return node
        number = self.job.fresh.number("block")
        assigned = AssignedNames.by(node, self.bound_names)
        self.generic_visit(node)
        rewrite = rewrite_try if node.handlers else rewrite_finally
        return rewrite(node, self.job, number, assigned)

    def visit_With(self, node: ast.With) -> ast.AST | list[ast.stmt]:
        if node not in self.job.facts.state:
            self.generic_visit(node)
            return node
        number = self.job.fresh.number("block")
        assigned = self.bound_names(moved_parts(node))
        self.generic_visit(node)
        return rewrite_with(node, self.job, number, assigned)
