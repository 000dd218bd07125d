"""The state of a staged statement: the functions that read and write it.

def read_1__(): return (a, b)
def write_1__(state__): nonlocal a, b; (a, b) = state__

A global that the statement sets may have no value before it: `stator__.outer(lambda: a, "a")`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from stator.rewrite.job import Job
from stator.rewrite.template import constant, quote, staged

STATE = """
def READ(): return VALUES
def WRITE(state__):
    DECLARED
    ASSIGN
"""


@dataclass(frozen=True)
class State:
    """The state of the statement `node`, in a fixed order."""

    job: Job
    node: ast.stmt
    number: int

    @property
    def read(self) -> str:
        """The name of the function that reads the state."""
        return f"read_{self.number}__"

    @property
    def write(self) -> str:
        """The name of the function that writes the state."""
        return f"write_{self.number}__"

    def names(self) -> ast.expr:
        """The names in the state, as a tuple of strings."""
        names = self.job.facts.state[self.node]
        return ast.Tuple([constant(name, at=self.node) for name in names], ast.Load())

    def functions(self) -> list[ast.stmt]:
        """The definitions of `read` and `write`."""
        names = self.job.facts.state[self.node]
        assign: list[ast.stmt] = [
            ast.Assign([_tuple(names, ast.Store())], ast.Name("state__", ast.Load()))
        ]
        return quote(
            STATE, at=self.node, READ=self.read, WRITE=self.write,
            VALUES=self._values(names), DECLARED=self.job.declare(names),
            ASSIGN=assign if names else nothing(self.node),
        )  # fmt: skip

    def _values(self, names: tuple[str, ...]) -> ast.Tuple:
        """The values of `names`; a global may have none."""
        outer = self.job.facts.scope.globals
        values = [self._outer(name) if name in outer else ast.Name(name, ast.Load())
                  for name in names]  # fmt: skip
        return ast.Tuple(values, ast.Load())

    def _outer(self, name: str) -> ast.expr:
        read = ast.parse(f"lambda: {name}", mode="eval").body
        return staged("outer", read, constant(name, at=self.node), at=self.node)


def nothing(at: ast.AST) -> list[ast.stmt]:
    """`pass`, for a block that must not be empty."""
    return quote("pass", at=at)


def _tuple(names: tuple[str, ...], context: ast.expr_context) -> ast.Tuple:
    return ast.Tuple([ast.Name(name, context) for name in names], context)
