"""f-strings -> staging calls.

    f"{x!r:>9} done"      stator__.fstring(stator__.format(x, "r", ">9"), " done")

A value that only a run can give is then formatted by the run.
"""

from __future__ import annotations

import ast

from stator.rewrite.job import Job
from stator.rewrite.template import constant, staged
from stator.rewrite.walk import Walk


def rewrite_text(tree: ast.FunctionDef, job: Job) -> ast.FunctionDef:
    """`tree` with its f-strings made by staging calls."""
    return _Text(job).run(tree)


class _Text(Walk):
    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return staged("fstring", *(self.expression(part) for part in node.values), at=node)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        conversion = None if node.conversion < 0 else chr(node.conversion)
        return staged(
            "format", self.expression(node.value), constant(conversion, at=node),
            self.specification(node), at=node,
        )  # fmt: skip

    def specification(self, node: ast.FormattedValue) -> ast.expr:
        """What follows the colon: nothing, a string, or an f-string of its own."""
        parts = node.format_spec.values if isinstance(node.format_spec, ast.JoinedStr) else []
        if not parts:
            return constant(None, at=node)
        if len(parts) == 1 and isinstance(parts[0], ast.Constant):
            return parts[0]
        return staged("fstring", *(self.expression(part) for part in parts), at=node)
