"""`while` and `for` -> staging calls.

    while TEST:          def test_1__(): return TEST
        BODY             def body_1__(): nonlocal a, b; BODY
                         def read_1__(): return (a, b)
                         def write_1__(state__): nonlocal a, b; (a, b) = state__
                         stator__.while_stmt(test_1__, body_1__, read_1__, write_1__, ("a", "b"))

    for x in ITER:       def body_1__(item__): nonlocal a, x; x = item__; BODY
        BODY             stator__.for_stmt(ITER, body_1__, None, read_1__, write_1__, ("a",))

The loop's state is a tuple in a fixed order; `staging` decides whether the loop runs now or is
recorded. A `for` that can be left early brings a test, evaluated before each iteration. A `while`
whose body always does `n += 1` says so: `..., ("n",), {"n": 1})`.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator

from stator.rewrite.job import Job
from stator.rewrite.state import State
from stator.rewrite.template import constant, quote
from stator.source.nodes import TestedFor, nodes_in

Names = tuple[str, ...]
Sides = tuple[Names, Names]

WHILE = """
def TEST_FN():
    TEST_NAMES
    return TEST
def BODY_FN():
    BODY_NAMES
    BODY
STATE
stator__.while_stmt(TEST_FN, BODY_FN, READ, WRITE, NAMES)
"""
COUNTING_WHILE = WHILE.replace("NAMES)", "NAMES, STEPS)")
FOR = """
def BODY_FN(item__):
    BODY_NAMES
    BODY
TEST_DEF
STATE
stator__.for_stmt(ITER, BODY_FN, TEST, READ, WRITE, NAMES)
"""
TEST = """
def NAME(): return TEST
"""


def rewrite_while(node: ast.While, job: Job, number: int, assigned: Sides) -> list[ast.stmt]:
    """The staged form of `node`, whose test and body assign the names `assigned`."""
    state, (in_test, in_body) = State(job, node, number), assigned
    steps = steps_of(node.body, {*in_test, *in_body})
    counting: dict[str, ast.expr] = {} if steps is None else {"STEPS": steps}
    return quote(
        WHILE if steps is None else COUNTING_WHILE, at=node,
        TEST_FN=f"test_{number}__", BODY_FN=f"body_{number}__",
        TEST_NAMES=job.declare(in_test), TEST=node.test,
        BODY_NAMES=job.declare(in_body), BODY=node.body,
        STATE=state.functions(), READ=state.read, WRITE=state.write, NAMES=state.names(),
        **counting,
    )  # fmt: skip


def steps_of(body: list[ast.stmt], assigned: Collection[str]) -> ast.Dict | None:
    """What each iteration adds to names, by statements of `body` that nothing else assigns."""
    found = {name: step for name, step in map(_step, body) if name in assigned}
    if not found:
        return None
    writes = Counter(name for statement in body for name in _written(statement))
    sure = {name: step for name, step in found.items() if writes[name] == 1}
    keys, values = map(ast.Constant, sure), map(ast.Constant, sure.values())
    return ast.Dict([*keys], [*values]) if sure else None


def _step(statement: ast.stmt) -> tuple[str, int]:
    """The name and the number of `n = n + 1` and `n += 1`, as they are rewritten, and with `-`."""
    match statement:
        case ast.Assign(
            [ast.Name(name)],
            ast.Call(
                ast.Attribute(ast.Name("stator__"), "arithmetic"),
                [ast.Name(old), ast.Constant("+" | "-" as sign), ast.Constant(step)],
            )
            | ast.Call(
                ast.Attribute(ast.Name("stator__"), "augmented"),
                [ast.Constant("+" | "-" as sign), ast.Name(old), ast.Constant(step)],
            ),
        ) if name == old and type(step) is int and step:
            return name, step if sign == "+" else -step
    return "", 0


def _written(tree: ast.AST) -> Iterator[str]:
    for node in nodes_in(tree):
        if isinstance(node, ast.Nonlocal):
            yield from node.names
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id


def rewrite_for(node: ast.For, job: Job, number: int, assigned: Names) -> list[ast.stmt]:
    """The staged form of `node`, whose body assigns the names `assigned`."""
    state, name = State(job, node, number), f"test_{number}__"
    tested = isinstance(node, TestedFor)
    test = quote(TEST, at=node, NAME=name, TEST=node.test) if isinstance(node, TestedFor) else []
    asked = ast.Name(name, ast.Load()) if tested else constant(None, at=node)
    return quote(
        FOR, at=node, ITER=node.iter, BODY_FN=f"body_{number}__",
        BODY_NAMES=job.declare(assigned), BODY=node.body, TEST_DEF=test, TEST=asked,
        STATE=state.functions(), READ=state.read, WRITE=state.write, NAMES=state.names(),
    )  # fmt: skip
