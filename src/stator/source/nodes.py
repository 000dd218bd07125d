"""Three node kinds of our own, alive only between passes; and walks over trees.

TestedFor    for TARGET in ITER while TEST: BODY      (a `for` that can be left early)
Search       any(ELT for ...), all(...), next(...)    (a comprehension that can stop early)
TakenWhole   the generator expression of sum(ELT for ...)    (a list comprehension otherwise)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
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


@final
class TakenWhole(ast.ListComp):
    """A generator expression that its only reader takes whole."""


Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
NodeT = TypeVar("NodeT", bound=ast.AST)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
OPERATIONS = frozenset((ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.AugAssign))
BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
PLACE_FIELDS = ("lineno", "col_offset", "end_lineno", "end_col_offset")
PLACE = frozenset(PLACE_FIELDS)


# Fields in which there is no node, or one without parts: contexts and operators.
_LEAVES = frozenset(
    (
        "ctx", "id", "attr", "arg", "op", "ops", "kind", "type_comment", "level", "module",
        "conversion", "simple", "is_async", "rest", "kwd_attrs", "type_ignores", "found",
    )
)  # fmt: skip
_inner_fields: dict[type[ast.AST], tuple[str, ...]] = {}
# kinds whose lists have nothing but nodes in them: most of the nodes there are
_NODES_ONLY = frozenset(
    (
        ast.Module, ast.FunctionDef, ast.ClassDef, ast.If, ast.For, ast.While, ast.With, ast.Try,
        ast.ExceptHandler, ast.Assign, ast.Delete, ast.Call, ast.Compare, ast.BoolOp, ast.Tuple,
        ast.List, ast.ListComp, ast.GeneratorExp, ast.comprehension, ast.JoinedStr,
    )
)  # fmt: skip
_WITHOUT_PARTS = frozenset((ast.Name, ast.Constant))
WITHOUT_BLOCKS = frozenset(
    (
        ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Raise, ast.Assert,
        ast.Pass, ast.Nonlocal, ast.Global, ast.Delete, ast.Import, ast.ImportFrom,
    )
)  # fmt: skip


def inner_fields(cls: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a node kind that may hold nodes, contexts and operators left out."""
    found = _inner_fields.get(cls)
    if found is None:
        names = () if cls is ast.Constant else cls._fields
        found = _inner_fields[cls] = tuple(name for name in names if name not in _LEAVES)
    return found


def _function_parts(node: Any) -> list[ast.AST]:
    returned = () if node.returns is None else (node.returns,)
    own = getattr(node, "type_params", ())  # of Python 3.12 and later
    return [node.args, *node.body, *node.decorator_list, *returned, *own]


# The nodes right inside a node of the commonest kinds: as `_parts` finds them, but fast.
_PARTS: Mapping[type[ast.AST], Callable[[Any], list[ast.AST]]] = {
    ast.Name: lambda _: [],
    ast.Constant: lambda _: [],
    ast.Attribute: lambda node: [node.value],
    ast.Call: lambda node: [node.func, *node.args, *node.keywords],
    ast.keyword: lambda node: [node.value],
    ast.BinOp: lambda node: [node.left, node.right],
    ast.Compare: lambda node: [node.left, *node.comparators],
    ast.UnaryOp: lambda node: [node.operand],
    ast.Subscript: lambda node: [node.value, node.slice],
    ast.Tuple: lambda node: node.elts[:],
    ast.Expr: lambda node: [node.value],
    ast.Assign: lambda node: [*node.targets, node.value],
    ast.FunctionDef: _function_parts,
    ast.arg: lambda node: [] if node.annotation is None else [node.annotation],
    ast.Pass: lambda _: [],
    ast.Nonlocal: lambda _: [],
    ast.Return: lambda node: [] if node.value is None else [node.value],
    ast.If: lambda node: [node.test, *node.body, *node.orelse],
    ast.While: lambda node: [node.test, *node.body, *node.orelse],
}


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right inside `node`; contexts and operators are left out."""
    parts = _PARTS.get(node.__class__)
    return _parts(node) if parts is None else parts(node)


def _parts(node: ast.AST) -> list[ast.AST]:
    cls = node.__class__
    fields = _inner_fields.get(cls)
    if fields is None:
        fields = inner_fields(cls)
    found: list[ast.AST] = []
    for name in fields:
        value = getattr(node, name, None)
        if value.__class__ is list:
            found += value if cls in _NODES_ONLY else [v for v in value if isinstance(v, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def holds(trees: Iterable[ast.AST], kinds: frozenset[type[ast.AST]]) -> bool:
    """Is a node of one of `kinds`, which have parts, anywhere in `trees`?"""
    pending = list(trees)
    while pending:
        for node in children(pending.pop()):
            cls = node.__class__
            if cls in kinds:
                return True
            if cls not in _WITHOUT_PARTS:
                pending.append(node)
    return False


def nodes_in(tree: ast.AST) -> Iterator[ast.AST]:
    """`tree` and every node inside it, contexts and operators left out, in no special order."""
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        pending += children(node)


def inner_statements(node: ast.AST) -> list[ast.AST]:
    """The statements, handlers and cases right inside `node`."""
    cls: Any = node.__class__
    if cls in WITHOUT_BLOCKS:
        return []
    if cls is ast.If or cls is ast.While or cls is ast.For:
        return [*node.body, *node.orelse]  # type: ignore[attr-defined]
    if isinstance(node, ast.expr):
        return []  # the `body` of a lambda is no block
    return [inner for name in BLOCKS for inner in getattr(node, name, ())]


def locate(tree: NodeT) -> NodeT:
    """`tree`, whose nodes without a place get that of the node around them."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        parts = _PARTS.get(node.__class__)
        for child in _parts(node) if parts is None else parts(node):
            if child.__dict__.get("end_lineno") is None:
                _take_place(child, node)
            if child.__class__ not in _WITHOUT_PARTS:
                pending.append(child)
    return tree


def _take_place(node: Any, around: Any) -> None:
    """The part of its place that `node` lacks is that of `around`."""
    place = around.__dict__
    if "lineno" not in node.__dict__ and place.keys() >= PLACE:
        copy_place(node, around)
        return
    for name in PLACE_FIELDS:
        if getattr(node, name, None) is None:
            setattr(node, name, getattr(around, name, None))


def copy_place(node: NodeT, at: ast.AST) -> NodeT:
    """`node`, new and without a place, in the place of `at`: `ast.copy_location`, but fast."""
    place, new = at.__dict__, node.__dict__
    try:
        new["end_col_offset"] = place["end_col_offset"]  # then all of its place is there
        new["lineno"], new["col_offset"] = place["lineno"], place["col_offset"]
        new["end_lineno"] = place["end_lineno"]
    except KeyError:
        return ast.copy_location(node, at)
    return node


def copy_tree(node: NodeT) -> NodeT:
    """A copy of `node` and of all that is inside."""
    new = node.__class__.__new__(node.__class__)
    parts = new.__dict__
    parts.update(node.__dict__)
    for name in inner_fields(node.__class__):
        value = parts.get(name)
        if value.__class__ is list:
            parts[name] = [copy_tree(i) if isinstance(i, ast.AST) else i for i in value]
        elif isinstance(value, ast.AST):
            parts[name] = copy_tree(value)
    return new
