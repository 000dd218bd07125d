"""`raise`, `try` and `with` -> staging calls around them.

raise E from C          raise stator__.raised(E) from C
try: BODY               try:
except E: HANDLER           with stator__.trying(): BODY
                        except E: stator__.handling(); HANDLER
with C as NAME: BODY    with stator__.entered(C) as NAME: BODY
"""

from __future__ import annotations

import ast

from stator.rewrite.job import Job
from stator.rewrite.template import quote, staged
from stator.rewrite.walk import Walk


def rewrite_exceptions(tree: ast.FunctionDef, job: Job) -> ast.FunctionDef:
    """`tree` with staging told of each `raise` and each `try`."""
    return _Exceptions(job).run(tree)


class _Exceptions(Walk):
    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if node.exc is not None:
            node.exc = staged("raised", node.exc, at=node)
        return node

    def visit_With(self, node: ast.With) -> ast.AST:
        self.generic_visit(node)
        for item in node.items:
            if not _is_ours(item.context_expr):
                item.context_expr = staged("entered", item.context_expr, at=item.context_expr)
        return node

    def visit_Try(self, node: ast.Try) -> ast.AST:
        self.generic_visit(node)
        if node.handlers:
            node.body = quote("with stator__.trying(): BODY", at=node, BODY=node.body)
        for handler in node.handlers:
            handler.body = [*quote("stator__.handling()", at=handler), *handler.body]
        return node


def _is_ours(node: ast.expr) -> bool:
    """`stator__.trying()`, which this pass itself has written."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "trying"
    )
