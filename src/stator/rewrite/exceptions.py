"""`raise` -> a staging call in it; `try` -> a staging call.

raise E from C          raise stator__.raised_from(E, C)
raise                   raise stator__.reraised()
try: BODY               def body_1__(): BODY
except E as e: HANDLER  def handler_1__(e): HANDLER
else: ORELSE            def orelse_1__(): ORELSE
                        stator__.try_stmt(body_1__, ((lambda: E, handler_1__),), orelse_1__,
                                          read_1__, write_1__, ("a",))
try: BODY               def body_1__(): BODY
finally: FINAL          def final_1__(): FINAL
                        stator__.finally_stmt(body_1__, final_1__, read_1__, write_1__, ("a",))
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from stator.rewrite.job import Job
from stator.rewrite.state import State, nothing
from stator.rewrite.template import quote, staged
from stator.rewrite.walk import Walk

Bound = Callable[[Iterable[ast.AST]], tuple[str, ...]]


def rewrite_exceptions(tree: ast.FunctionDef, job: Job) -> ast.FunctionDef:
    """`tree` with staging told of each `raise` and each `try`."""
    return _Exceptions(job).run(tree)


class _Exceptions(Walk):
    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if node.exc is None:
            node.exc = staged("reraised", at=node)
        elif node.cause is None:
            node.exc = staged("raised", node.exc, at=node)
        else:
            node.exc = staged("raised_from", node.exc, node.cause, at=node)
            node.cause = None
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


def rewrite_try(node: ast.Try, job: Job, number: int, assigned: AssignedNames) -> list[ast.stmt]:
    """The staged form of `node`, which has handlers; a `finally` stays around it."""
    state = State(job, node, number)
    handlers = [f"handler_{number}_{k}__" for k in range(1, len(node.handlers) + 1)]
    functions = [
        line
        for name, handler, names in zip(handlers, node.handlers, assigned.handlers, strict=True)
        for line in _handler(name, handler, names, job)
    ]
    clauses = [_clause(*pair, at=node) for pair in zip(handlers, node.handlers, strict=True)]
    return quote(
        TRY, at=node, BODY_FN=f"body_{number}__", ORELSE_FN=f"orelse_{number}__",
        BODY=node.body, BODY_NAMES=job.declare(assigned.body), HANDLERS=functions,
        ORELSE=node.orelse or nothing(node), ORELSE_NAMES=job.declare(assigned.orelse),
        CLAUSES=ast.Tuple(clauses, ast.Load()), STATE=state.functions(), READ=state.read,
        WRITE=state.write, NAMES=state.names(),
    )  # fmt: skip


FINALLY = """
def BODY_FN():
    BODY_NAMES
    BODY
def FINAL_FN():
    FINAL_NAMES
    FINAL
STATE
stator__.finally_stmt(BODY_FN, FINAL_FN, READ, WRITE, NAMES)
"""


def rewrite_finally(
    node: ast.Try, job: Job, number: int, assigned: AssignedNames
) -> list[ast.stmt]:
    """The staged form of `node`, which has a `finally` and no handlers."""
    state = State(job, node, number)
    return quote(
        FINALLY, at=node, BODY_FN=f"body_{number}__", FINAL_FN=f"final_{number}__",
        BODY=node.body, BODY_NAMES=job.declare(assigned.body),
        FINAL=node.finalbody, FINAL_NAMES=job.declare(assigned.final),
        STATE=state.functions(), READ=state.read, WRITE=state.write, NAMES=state.names(),
    )  # fmt: skip


@dataclass(frozen=True)
class AssignedNames:
    """The names that the parts of a `try` assign, taken before they are rewritten."""

    body: tuple[str, ...]
    handlers: tuple[tuple[str, ...], ...]
    orelse: tuple[str, ...]
    final: tuple[str, ...]

    @classmethod
    def by(cls, node: ast.Try, bound_names: Bound) -> AssignedNames:
        """What `node` assigns, part by part, as `bound_names` has it."""
        handlers = tuple(bound_names(handler.body) for handler in node.handlers)
        parts = (node.body, node.orelse, node.finalbody)
        body, orelse, final = (bound_names(part) for part in parts)
        return cls(body, handlers, orelse, final)


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
    no_arguments = ast.arguments([], [], None, [], [], None, [])
    thunk = ast.copy_location(ast.Lambda(no_arguments, caught), handler)
    function = ast.copy_location(ast.Name(name, ast.Load()), at)
    return ast.copy_location(ast.Tuple([thunk, function], ast.Load()), at)
