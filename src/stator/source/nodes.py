"""Two node kinds of our own, alive only between passes.

TestedFor    for TARGET in ITER while TEST: BODY      (a `for` that can be left early)
Search       any(ELT for ...), all(ELT for ...)       (a comprehension that can stop early)
"""

from __future__ import annotations

import ast
from typing import final


@final
class TestedFor(ast.For):
    """A `for` that goes on only while `test` holds; `test` is asked before each trip."""

    _fields = ("target", "iter", "body", "orelse", "type_comment", "test")
    test: ast.expr

    @classmethod
    def of(cls, loop: ast.For, test: ast.expr) -> TestedFor:
        """`loop`, going on only while `test` holds."""
        fields = {name: getattr(loop, name) for name in loop._fields}
        new = cls(**fields)
        new.test = test
        return ast.copy_location(new, loop)


@final
class Search(ast.ListComp):
    """`any` (`found` is true) or `all` (`found` is false) over a generator expression."""

    _fields = ("elt", "generators", "found")
    found: bool

    @classmethod
    def of(cls, taken: ast.GeneratorExp, *, found: bool) -> Search:
        """The search through `taken` that ends at the first item whose truth is `found`."""
        new = cls(taken.elt, taken.generators)
        new.found = found
        return ast.copy_location(new, taken)


Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
