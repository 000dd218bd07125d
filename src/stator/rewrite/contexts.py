"""`with` -> a staging call; before that, one manager and one kind of ending to each statement.

with A as a, B as b: BODY        with A as a:
with B as b: BODY

try: BODY                        try:
except E: HANDLER                    try: BODY
finally: FINAL                       except E: HANDLER
finally: FINAL

with A as a: BODY                def body_1__(item__): nonlocal a; a = item__; BODY
stator__.with_stmt(A, body_1__, read_1__, write_1__, ("a",))
"""

from __future__ import annotations

import ast

from stator.rewrite.job import Job
from stator.rewrite.state import State
from stator.rewrite.template import quote
from stator.rewrite.walk import Walk
from stator.source.contexts import is_staged_with


def split_contexts(tree: ast.FunctionDef, job: Job) -> ast.FunctionDef:
    """`tree` with each `with` and each `try` taken apart as far as they go."""
    return _Splitter(job).run(tree)


class _Splitter(Walk):
    def visit_With(self, node: ast.With) -> ast.AST:
        self.generic_visit(node)
        if not is_staged_with(node):
            return node
        *outer, last = node.items
        new = ast.copy_location(ast.With([last], node.body), node)
        for item in reversed(outer):
            new = ast.copy_location(ast.With([item], [new]), node)
        return new

    def visit_Try(self, node: ast.Try) -> ast.AST:
        self.generic_visit(node)
        if not (node.handlers and node.finalbody):
            return node
        inner = ast.copy_location(ast.Try(node.body, node.handlers, node.orelse, []), node)
        return ast.copy_location(ast.Try([inner], [], [], node.finalbody), node)


WITH = """
def BODY_FN(item__):
    BODY_NAMES
    BODY
STATE
stator__.with_stmt(MANAGER, BODY_FN, READ, WRITE, NAMES)
"""


def rewrite_with(
    node: ast.With, job: Job, number: int, assigned: tuple[str, ...]
) -> list[ast.stmt]:
    """The staged form of `node`, which has one manager."""
    (item,), body, state = node.items, list(node.body), State(job, node, number)
    if item.optional_vars is not None:
        body[:0] = quote("TARGET = item__", at=item.optional_vars, TARGET=item.optional_vars)
    return quote(
        WITH, at=node, MANAGER=item.context_expr, BODY_FN=f"body_{number}__",
        BODY_NAMES=job.declare(assigned), BODY=body, STATE=state.functions(), READ=state.read,
        WRITE=state.write, NAMES=state.names(),
    )  # fmt: skip
