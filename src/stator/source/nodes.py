"""Two node kinds of our own, alive only between passes; and walks over trees.

TestedFor    for TARGET in ITER while TEST: BODY      (a `for` that can be left early)
Search       any(ELT for ...), all(...), next(...)    (a comprehension that can stop early)
"""

from __future__ import annotations

import ast
from typing import Any, ClassVar, TypeVar, final


@final
class TestedFor(ast.For):
    """A `for` that goes on only while `test` holds; `test` is evaluated before each iteration."""

    _fields = (*ast.For._fields, "test")
    _field_types: ClassVar[dict[str, Any]] = {  # read by Python 3.13 and later
        **getattr(ast.For, "_field_types", {}),
        "test": ast.expr,
    }
    test: ast.expr

    @classmethod
    def of(cls, loop: ast.For, test: ast.expr) -> TestedFor:
        """`loop`, going on only while `test` holds."""
        fields: dict[str, Any] = {name: getattr(loop, name) for name in loop._fields}
        fields["test"] = test
        new = cls(**fields)
        return ast.copy_location(new, loop)


@final
class Search(ast.ListComp):
    """`any` (`found` is true), `all` (false) or `next` (None) over a generator expression."""

    _fields = (*ast.ListComp._fields, "found")
    _field_types: ClassVar[dict[str, Any]] = {  # read by Python 3.13 and later
        **getattr(ast.ListComp, "_field_types", {}),
        "found": bool,
    }
    found: bool | None

    @classmethod
    def of(cls, taken: ast.GeneratorExp, *, found: bool | None) -> Search:
        """The search through `taken` that ends at the first item whose truth is `found`."""
        fields: dict[str, Any] = {"elt": taken.elt, "generators": taken.generators, "found": found}
        new = cls(**fields)
        return ast.copy_location(new, taken)


Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
NodeT = TypeVar("NodeT", bound=ast.AST)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right inside `node`; `Load`, `Store` and `Del` are left out."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
            found.append(value)
    return found


def copy_tree(node: NodeT) -> NodeT:
    """A copy of `node` and of all that is inside."""
    new = node.__class__.__new__(node.__class__)
    parts = new.__dict__
    for name, value in node.__dict__.items():
        if isinstance(value, list):
            parts[name] = [copy_tree(i) if isinstance(i, ast.AST) else i for i in value]
        elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
            parts[name] = copy_tree(value)
        else:
            parts[name] = value
    return new
