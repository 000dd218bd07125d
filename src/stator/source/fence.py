"""A decision for every kind of node: allowed, rewritten, or refused with a reason and a fix.

The table is by name, because Python versions differ in the nodes they have. A node that is in
no row is refused: a new Python brings new syntax, and nothing passes by accident.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from stator.errors import Edit, UnsupportedSyntax
from stator.source.block import Definition
from stator.source.nodes import COMPREHENSIONS, OPERATIONS, children
from stator.source.scopes import Survey
from stator.source.text import Source


@dataclass(frozen=True)
class FenceRule:
    """What becomes of one kind of node."""

    verdict: Literal["allowed", "rewritten", "refused"]
    what: str = ""
    fix: str = ""
    edit: Edit | None = None


_ALLOWED = """
    Module Interactive Expression FunctionType mod stmt expr expr_context boolop operator unaryop
    cmpop comprehension excepthandler ExceptHandler arguments arg keyword alias withitem
    match_case pattern type_ignore TypeIgnore slice
    FunctionDef ClassDef Lambda Return Expr Pass Import ImportFrom Global Nonlocal With
    Constant Name NamedExpr Tuple Starred BinOp UnaryOp GeneratorExp
    Load Store Del Invert UAdd USub
    Add Sub Mult MatMult Div Mod Pow LShift RShift BitOr BitXor BitAnd FloorDiv
    Yield YieldFrom
    TypeAlias type_param TypeVar ParamSpec TypeVarTuple
    Num Str Bytes NameConstant Ellipsis Index ExtSlice Suite Param AugLoad AugStore
    TestedFor Search
"""
_REWRITTEN = """
    If While For Break Continue Assign AugAssign AnnAssign Delete Assert Raise Try
    BoolOp And Or Not IfExp Compare Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn
    Call Attribute Subscript Slice JoinedStr FormattedValue
    List Dict Set ListComp SetComp DictComp
    Match MatchValue MatchSingleton MatchSequence MatchMapping MatchClass MatchStar MatchAs MatchOr
"""
_ASYNC = "write it without `async`: a program runs from start to end"
_NOT_ASYNC = (r"\basync ", "")
_F_STRING = (r"\bt(?=['\"])", "f")
_REFUSED = {
    "AsyncFunctionDef": ("`async def`", _ASYNC, _NOT_ASYNC),
    "AsyncFor": ("`async for`", "iterate over a list or a tensor", _NOT_ASYNC),
    "AsyncWith": ("`async with`", _ASYNC, _NOT_ASYNC),
    "Await": ("`await`", _ASYNC, (r"\bawait ", "")),
    "TryStar": ("`except*`", "use `except`", (r"\bexcept\s*\*", "except")),
    "TemplateStr": ("a template string", "use an f-string", _F_STRING),
    "Interpolation": ("a template string", "use an f-string", _F_STRING),
}


def _table() -> Mapping[str, FenceRule]:
    table = {name: FenceRule("allowed") for name in _ALLOWED.split()}
    table |= {name: FenceRule("rewritten") for name in _REWRITTEN.split()}
    table |= {name: FenceRule("refused", *row) for name, row in _REFUSED.items()}
    return MappingProxyType(table)


FENCE = _table()
_UNKNOWN = FenceRule("refused", "this syntax", "write it in the syntax of Python 3.13")
_REFUSED_CALLS = MappingProxyType(
    {
        "exec": "call the code directly",
        "eval": "call the code directly",
        "vars": "name the variables",
        "dir": "name the variables",
    }
)
_ALWAYS_CONVERTED = frozenset(  # whatever is in them; a comprehension may be `async`
    name for name, rule in FENCE.items() if rule.verdict != "refused"
).difference(kind.__name__ for kind in COMPREHENSIONS)
_ONLY_BARE = frozenset({"vars", "dir"})  # with an argument these are ordinary functions


def check(source: Source, found: Survey) -> None:
    """Raise UnsupportedSyntax for the first node of `source` that cannot be converted.

    Nearly always the kinds that the survey has `found` tell that there is none.
    """
    names = {kind.__name__ for kind in found.kinds}
    if isinstance(source.tree, ast.AsyncFunctionDef) or not (
        names <= _ALWAYS_CONVERTED and _REFUSED_CALLS.keys().isdisjoint(found.read)
    ):
        for refusal in refusals(source):
            raise refusal


def refusals(source: Source) -> Iterator[UnsupportedSyntax]:
    """An error for each node of `source` that cannot be converted, from top to bottom."""
    for node in _own_nodes(source.tree):
        if node.__class__ in _PLAIN:
            continue
        decision = _decide(node)
        if decision.verdict == "refused":
            problem = f"{decision.what} cannot be converted"
            node = getattr(node, "handlers", (node,))[0]  # of `except*`: that is the line to edit
            yield UnsupportedSyntax(problem, at=source.location(node), fix=decision.fix,
                                    edit=decision.edit)  # fmt: skip


_PLAIN = frozenset(
    (ast.Name, ast.Constant, ast.Attribute, ast.Assign, ast.keyword, ast.Expr, ast.Tuple, ast.arg)
)


def _decide(node: ast.AST) -> FenceRule:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        name, bare = node.func.id, not (node.args or node.keywords)
        if name in _REFUSED_CALLS and (bare or name not in _ONLY_BARE):
            return FenceRule("refused", f"a call of `{name}`", _REFUSED_CALLS[name])
    if isinstance(node, COMPREHENSIONS) and any(item.is_async for item in node.generators):
        return FenceRule("refused", "an `async` comprehension", _ASYNC)
    return FENCE.get(type(node).__name__, _UNKNOWN)


_NESTED = frozenset((ast.FunctionDef, ast.Lambda, ast.ClassDef, ast.AsyncFunctionDef))


def _own_nodes(root: Definition) -> Iterator[ast.AST]:
    """`root` and what runs in it: its header, and the insides of nested ones, do not."""
    yield root
    if isinstance(root, ast.AsyncFunctionDef):
        return
    body = root.body if isinstance(root.body, list) else [root.body]
    pending: list[ast.AST] = [*reversed(body)]
    while pending:
        one = pending.pop()
        yield one
        if one.__class__ not in _NESTED:
            pending += _parts(one)[::-1]


def _parts(node: Any) -> list[ast.AST]:
    """The nodes right inside `node`, operators too: a new kind of operator is refused as well."""
    cls = node.__class__
    if cls is ast.Compare:
        return [*node.ops, *children(node)]
    return [node.op, *children(node)] if cls in OPERATIONS else children(node)
