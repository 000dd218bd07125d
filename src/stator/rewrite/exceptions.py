"""`raise` and `with` -> staging calls around them; `try` -> a staging call.

raise E from C          raise stator__.raised(E) from stator__.cause(C)
raise                   raise stator__.reraised()
with C as NAME: BODY    with stator__.entered(C) as NAME: BODY
try: BODY               def body_1__(): BODY
except E as e: HANDLER  def handler_1__(e): HANDLER
else: ORELSE            def orelse_1__(): ORELSE
finally: FINAL          try: stator__.try_stmt(body_1__, ((lambda: E, handler_1__),), orelse_1__,
                                               read_1__, write_1__, ("a",))
                        finally: FINAL
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from stator.rewrite.job import Job
from stator.rewrite.state import State, nothing
from stator.rewrite.template import quote, staged
from stator.rewrite.walk import Walk
from stator.source.scopes import bound_names


def rewrite_exceptions(tree: ast.FunctionDef, job: Job) -> ast.FunctionDef:
    """`tree` with staging told of each `raise` and each `try`."""
    return _Exceptions(job).run(tree)


class _Exceptions(Walk):
    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if node.exc is None:
            node.exc = staged("reraised", at=node)
        else:
            node.exc = staged("raised", node.exc, at=node)
        if node.cause is not None:
            node.cause = staged("cause", node.cause, at=node)
        return node

    def visit_With(self, node: ast.With) -> ast.AST:
        self.generic_visit(node)
        for item in node.items:
            item.context_expr = staged("entered", item.context_expr, at=item.context_expr)
        return node


TRY = """
def BODY_FN():
    BODY_NAMES
    BODY
HANDLERS
def ORELSE_FN():
    ORELSE_NAMES
    ORELSE
STATE
stator__.try_stmt(BODY_FN, CLAUSES, ORELSE_FN, READ, WRITE, NAMES)
"""
HANDLER = """
def HANDLER_FN(ERROR):
    HANDLER_NAMES
    HANDLER
"""


def rewrite_try(node: ast.Try, job: Job, number: int, assigned: Assigned) -> list[ast.stmt]:
    """The staged form of `node`, which has handlers; a `finally` stays around it."""
    state = State(job, node, number)
    handlers = [f"handler_{number}_{k}__" for k in range(1, len(node.handlers) + 1)]
    functions = [
        line
        for name, handler, names in zip(handlers, node.handlers, assigned.handlers, strict=True)
        for line in _handler(name, handler, names, job)
    ]
    clauses = [_clause(*pair, at=node) for pair in zip(handlers, node.handlers, strict=True)]
    new = quote(
        TRY, at=node, BODY_FN=f"body_{number}__", ORELSE_FN=f"orelse_{number}__",
        BODY=node.body, BODY_NAMES=job.declare(assigned.body), HANDLERS=functions,
        ORELSE=node.orelse or nothing(node), ORELSE_NAMES=job.declare(assigned.orelse),
        CLAUSES=ast.Tuple(clauses, ast.Load()), STATE=state.functions(), READ=state.read,
        WRITE=state.write, NAMES=state.names(),
    )  # fmt: skip
    return rewrite_finally(new, node.finalbody, job, node) if node.finalbody else new


FINALLY = """
NAME = stator__.cleanup()
try:
    with NAME:
        BODY
finally:
    with NAME.running():
        FINAL
"""


def rewrite_finally(
    body: list[ast.stmt], final: list[ast.stmt], job: Job, node: ast.Try
) -> list[ast.stmt]:
    """`try: BODY finally: FINAL`, staging being told where the one ends and the other begins."""
    name = job.fresh.name("cleanup")
    return quote(FINALLY, at=node, NAME=name, BODY=body, FINAL=final)


@dataclass(frozen=True)
class Assigned:
    """The names that the parts of a `try` assign, taken before they are rewritten."""

    body: tuple[str, ...]
    handlers: tuple[tuple[str, ...], ...]
    orelse: tuple[str, ...]

    @classmethod
    def by(cls, node: ast.Try) -> Assigned:
        """What `node` assigns, part by part."""
        handlers = tuple(bound_names(handler.body) for handler in node.handlers)
        return cls(bound_names(node.body), handlers, bound_names(node.orelse))


def _handler(
    name: str, handler: ast.ExceptHandler, names: tuple[str, ...], job: Job
) -> list[ast.stmt]:
    error = handler.name or "error__"
    declared = job.declare(other for other in names if other != error)
    return quote(
        HANDLER, at=handler, HANDLER_FN=name, ERROR=error, HANDLER_NAMES=declared,
        HANDLER=handler.body,
    )  # fmt: skip


def _clause(name: str, handler: ast.ExceptHandler, *, at: ast.AST) -> ast.expr:
    """`(lambda: E, handler)`: the class is evaluated only when something was raised."""
    caught = handler.type or ast.copy_location(ast.Constant(None), handler)
    nobody = ast.arguments([], [], None, [], [], None, [])
    thunk = ast.copy_location(ast.Lambda(nobody, caught), handler)
    function = ast.copy_location(ast.Name(name, ast.Load()), at)
    return ast.copy_location(ast.Tuple([thunk, function], ast.Load()), at)
