"""`if` -> a staging call.

    if TEST:             def body_1__(): nonlocal a; BODY
        BODY             def orelse_1__(): nonlocal a; ORELSE
    else:                def read_1__(): return (a,)
        ORELSE           def write_1__(state__): nonlocal a; (a,) = state__
                         stator__.if_stmt(TEST, body_1__, orelse_1__, read_1__, write_1__, ("a",))

A name of the state that is not read after the `if` is undefined at the end of both branches,
so that they need not agree on what they leave in it.
"""

from __future__ import annotations

import ast

from stator.rewrite.job import Job
from stator.rewrite.names import define
from stator.rewrite.state import State, nothing
from stator.rewrite.template import quote

Sides = tuple[tuple[str, ...], tuple[str, ...]]

IF = """
def BODY_FN():
    BODY_NAMES
    BODY
def ORELSE_FN():
    ORELSE_NAMES
    ORELSE
STATE
stator__.if_stmt(TEST, BODY_FN, ORELSE_FN, READ, WRITE, NAMES)
"""


def rewrite_if(node: ast.If, job: Job, number: int, assigned: Sides) -> list[ast.stmt]:
    """The staged form of `node`, whose two sides assign the names `assigned`."""
    state, dead = State(job, node, number), job.facts.dead[node]
    in_body, in_orelse = assigned
    body = [*node.body, *_undefine(dead, node)]
    orelse = [*node.orelse, *_undefine(dead, node)]
    return quote(
        IF, at=node, TEST=node.test, BODY_FN=f"body_{number}__", ORELSE_FN=f"orelse_{number}__",
        BODY=body, BODY_NAMES=job.declare((*in_body, *dead)),
        ORELSE=orelse or nothing(node), ORELSE_NAMES=job.declare((*in_orelse, *dead)),
        STATE=state.functions(), READ=state.read, WRITE=state.write, NAMES=state.names(),
    )  # fmt: skip


def _undefine(names: tuple[str, ...], at: ast.If) -> list[ast.stmt]:
    return [line for name in names for line in define(name, at=at)]
