"""`yield` -> a call of the consumer.

    def halves(x):                   def halves(consumer__, x):
        while x > 1:                     while x > 1:
            yield x                          if stator__.yielded(consumer__, x): return
            x = x / 2                        x = x / 2

The loop that uses a generator becomes the generator's consumer: its body runs at each `yield`, so
the generator is an ordinary function, and all its loops and branches can be staged. `yielded` tells
whether the consumer wants no more. A generator that uses the value of a `yield` is no such
function: see `rewrite/machines.py`.
"""

from __future__ import annotations

import ast

from stator.rewrite.job import Job
from stator.rewrite.template import quote
from stator.rewrite.walk import OwnTransformer

CONSUMER = "consumer__"
YIELD = """
if stator__.yielded(consumer__, VALUE):
    return
"""
YIELD_FROM = """
for ITEM in VALUES:
    if stator__.yielded(consumer__, ITEM):
        return
"""


def rewrite_yields(tree: ast.FunctionDef, job: Job) -> ast.FunctionDef:
    """`tree`, a generator function, as a function that takes its consumer first."""
    yields = _Yields(job)
    tree.body = yields.statements(tree.body)
    tree.args.posonlyargs.insert(0, ast.copy_location(ast.arg(CONSUMER), tree))
    return tree


class _Yields(OwnTransformer):
    """Replaces the `yield` statements of one function; nested functions keep theirs."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        value = node.value
        if isinstance(value, ast.Yield):
            given = value.value or ast.copy_location(ast.Constant(None), node)
            return quote(YIELD, at=node, VALUE=given)
        if isinstance(value, ast.YieldFrom):
            item = self._job.fresh.name("item")
            return quote(YIELD_FROM, at=node, ITEM=item, VALUES=value.value)
        return self.generic_visit(node)
