"""Which names a tree binds, reads and captures.

A name is *read* where evaluating the tree reads it at once, comprehensions included. It is
*captured* where a function, a class or a generator expression made there may read it later.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from stator.source.nodes import (
    COMPREHENSIONS,
    FUNCTIONS,
    OPERATIONS,
    WITHOUT_BLOCKS,
    Comprehension,
    Function,
    children,
    inner_statements,
    nodes_in,
)

PARTLY_EVALUATED = frozenset(
    {ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.AnnAssign}
)

# what binds nothing itself, and is evaluated whole: most of the nodes there are
BINDING_NOTHING = frozenset(
    {
        ast.Call, ast.Attribute, ast.Subscript, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp,
        ast.Tuple, ast.List, ast.IfExp, ast.keyword, ast.Assign, ast.AugAssign, ast.Expr,
        ast.Return, ast.If, ast.While, ast.For, ast.Raise, ast.Assert, ast.Starred, ast.Slice,
        ast.Constant,
    }
)  # fmt: skip
NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
DECLARING = (ast.Global, ast.Nonlocal)
WITHOUT_PARTS = frozenset((ast.Nonlocal, ast.Global, ast.Pass, ast.Break, ast.Continue))
COMPOUND = (ast.If, ast.While, ast.For, ast.Try, ast.With, ast.ExceptHandler)


@dataclass(frozen=True)
class Uses:
    """The names a tree reads and captures, in order of appearance."""

    read: tuple[str, ...]
    captured: tuple[str, ...]


@dataclass(frozen=True)
class NameScope:
    """The names of one function."""

    parameters: tuple[str, ...]
    locals: tuple[str, ...]  # parameters included
    globals: tuple[str, ...]  # declared `global`
    nonlocals: tuple[str, ...]  # declared `nonlocal`


def scope_of(function: Function) -> NameScope:
    """The scope of `function` itself, nested functions left out."""
    body = function.body if isinstance(function.body, list) else [function.body]
    nodes = own_statements(function.body) if isinstance(function.body, list) else []
    declared = [node for node in nodes if isinstance(node, DECLARING)]
    annotated = [
        node.target.id
        for node in nodes
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    return _scope(parameter_names(function.args), bound_names(body), annotated, declared)


def _scope(
    parameters: tuple[str, ...],
    bound: Iterable[str],
    annotated: Iterable[str],
    declared: list[ast.Global | ast.Nonlocal],
) -> NameScope:
    if not declared:
        return NameScope(
            parameters, tuple(dict.fromkeys([*parameters, *bound, *annotated])), (), ()
        )
    global_names = _declared(item for item in declared if isinstance(item, ast.Global))
    nonlocal_names = _declared(item for item in declared if isinstance(item, ast.Nonlocal))
    elsewhere = {*global_names, *nonlocal_names}
    own = [name for name in bound if name not in elsewhere]
    every = tuple(dict.fromkeys([*parameters, *own, *annotated]))
    return NameScope(parameters, every, global_names, nonlocal_names)


def _declared(statements: Iterable[ast.Global | ast.Nonlocal]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for node in statements for name in node.names))


def parameter_names(arguments: ast.arguments) -> tuple[str, ...]:
    """The parameters in the order of their declaration."""
    plain = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    plain += [item for item in (arguments.vararg, arguments.kwarg) if item is not None]
    return tuple([item.arg for item in plain])


def own_nodes(trees: Iterable[ast.AST]) -> Iterable[ast.AST]:
    """Every node of `trees` that runs in their own function.

    Nested functions and classes are given themselves, with what is evaluated where they are
    made; comprehensions are given whole.
    """
    pending = list(trees)[::-1]
    while pending:
        node = pending.pop()
        yield node
        pending += evaluated_children(node)[::-1]


def own_statements(body: Iterable[ast.AST]) -> list[ast.AST]:
    """The statements, handlers and cases of `body` that run in its own function, in order."""
    found: list[ast.AST] = []
    pending = list(body)[::-1]
    while pending:
        node = pending.pop()
        found.append(node)
        if node.__class__ not in WITHOUT_BLOCKS and not isinstance(node, NESTED):
            pending += inner_statements(node)[::-1]
    return found


def evaluated_children(node: ast.AST) -> list[ast.AST]:
    """The children of `node` that are evaluated when `node` is."""
    if node.__class__ not in PARTLY_EVALUATED:
        return children(node)
    if isinstance(node, ast.Lambda):
        return _defaults(node.args)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return [*node.decorator_list, *_defaults(node.args), *_annotations(node)]
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords]
    assert isinstance(node, ast.AnnAssign)
    return [part for part in (node.value, node.target) if part is not None]


def _defaults(arguments: ast.arguments) -> list[ast.AST]:
    return [*arguments.defaults, *(item for item in arguments.kw_defaults if item is not None)]


def _annotations(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.AST]:
    args, returns = node.args, node.returns
    optional = [item for item in (args.vararg, args.kwarg) if item is not None]
    every = (*args.posonlyargs, *args.args, *args.kwonlyargs, *optional)
    found: list[ast.AST] = [item.annotation for item in every if item.annotation is not None]
    return found if returns is None else [*found, returns]


def bound_names(trees: Iterable[ast.AST]) -> tuple[str, ...]:
    """The names that running `trees` may bind or delete, in order of appearance."""
    names: dict[str, None] = {}
    pending: list[Any] = list(trees)[::-1]
    while pending:
        node = pending.pop()
        cls = node.__class__
        if cls is ast.Name:
            if node.ctx.__class__ is not ast.Load:
                names[node.id] = None
        elif cls in BINDING_NOTHING:
            if cls is not ast.Constant:
                pending += children(node)[::-1]
        elif cls is ast.FunctionDef:
            names[node.name] = None
            pending += evaluated_children(node)[::-1]
        elif cls in WITHOUT_PARTS:
            continue
        elif isinstance(node, COMPREHENSIONS):
            names.update(dict.fromkeys(_bound_outside(node)))
        else:
            if isinstance(node, NAMED) and node.name:
                names[node.name] = None
            elif isinstance(node, ast.alias):
                names[(node.asname or node.name).split(".")[0]] = None
            if not (isinstance(node, ast.AnnAssign) and node.value is None):
                pending += evaluated_children(node)[::-1]
    return tuple(names)


NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)


def _bound_outside(node: Comprehension) -> Iterable[str]:
    """A comprehension's targets are its own; its `:=` binds outside."""
    for item in own_nodes([node]):
        if isinstance(item, ast.NamedExpr) and isinstance(item.target, ast.Name):
            yield item.target.id


class BoundNames:
    """`bound_names` of the statements of a tree that does not change, each looked at once."""

    def __init__(self) -> None:
        self._known: dict[ast.AST, tuple[str, ...]] = {}

    def of(self, trees: Iterable[ast.AST]) -> tuple[str, ...]:
        """The names that running `trees` may bind or delete, in order of appearance."""
        return tuple(dict.fromkeys(name for tree in trees for name in self._of(tree)))

    def _of(self, node: ast.AST) -> tuple[str, ...]:
        if not isinstance(node, COMPOUND):
            return bound_names([node])
        found = self._known.get(node)
        if found is None:
            own = (node.name,) if isinstance(node, ast.ExceptHandler) and node.name else ()
            found = self._known[node] = (*own, *self.of(children(node)))
        return found


def uses_of(trees: Iterable[ast.AST]) -> Uses:
    """The names that running `trees` reads, and those it captures."""
    reader = _Reader()
    for tree in trees:
        reader.visit(tree)
    return Uses(tuple(reader.read), tuple(reader.captured))


class _Reader:
    def __init__(self) -> None:
        self.read: dict[str, None] = {}
        self.captured: dict[str, None] = {}
        self.hidden: tuple[str, ...] = ()

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            is_read = node.ctx.__class__ is not ast.Store  # `del x`, too, wants x to be there
            if is_read and node.id not in self.hidden:
                self.read[node.id] = None
        elif isinstance(node, COMPREHENSIONS):
            self._comprehension(node)
        elif node.__class__ in BINDING_NOTHING and node.__class__ is not ast.AugAssign:
            for child in children(node):
                self.visit(child)
        else:
            self._ordinary(node)

    def _ordinary(self, node: ast.AST) -> None:
        self._note(self.captured, _captured_by(node))
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self._note(self.read, (node.target.id,))
        for child in evaluated_children(node):
            self.visit(child)

    def _comprehension(self, node: Comprehension) -> None:
        self.visit(node.generators[0].iter)
        inside = _Reader()
        inside.hidden = (*self.hidden, *bound_names(item.target for item in node.generators))
        for child in comprehension_inside(node):
            inside.visit(child)
        lazy = isinstance(node, ast.GeneratorExp)
        self.captured.update(inside.captured)
        (self.captured if lazy else self.read).update(inside.read)

    def _note(self, where: dict[str, None], names: Iterable[str]) -> None:
        where.update(dict.fromkeys(name for name in names if name not in self.hidden))


def _captured_by(node: ast.AST) -> tuple[str, ...]:
    """The names that `node`, if it is a function or a class, may read at any later time."""
    if isinstance(node, FUNCTIONS):
        return free_names(node)
    if isinstance(node, ast.ClassDef):
        inside = uses_of(node.body)
        return (*inside.read, *inside.captured)
    return ()


def comprehension_inside(node: Comprehension) -> list[ast.AST]:
    """What runs inside a comprehension: all but its first iterable."""
    first, *others = node.generators
    inside: list[ast.AST] = [first.target, *first.ifs, *others]
    ends = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
    return [*inside, *ends]


@dataclass(frozen=True)
class Survey:
    """What is in one function, as one walk finds it."""

    scope: NameScope
    read: tuple[str, ...]
    free: tuple[str, ...]  # names that it, and functions in it, take from around it, globals too
    kinds: frozenset[type[ast.AST]]  # of the nodes that run in it, and of their operators


def survey(function: Function) -> Survey:
    """What is in `function` itself; of nested functions, what they take from around them."""
    walk = _SurveyWalk()
    walk.run(function.body if isinstance(function.body, list) else [function.body])
    scope = walk.scope(parameter_names(function.args))
    own = {*scope.locals, *scope.globals}
    every = dict.fromkeys((*walk.read, *walk.captured, *scope.nonlocals))
    free = tuple(name for name in every if name not in own)
    return Survey(scope, tuple(walk.read), free, frozenset(walk.kinds))


def free_names(function: Function) -> tuple[str, ...]:
    """The names `function`, and functions in it, take from around it (globals included)."""
    return survey(function).free


class _SurveyWalk:
    """Finds what `scope_of`, `uses_of` and `own_nodes` find, at once."""

    def __init__(self) -> None:
        self.kinds: set[type[ast.AST]] = set()
        self.bound: dict[str, None] = {}
        self.annotated: dict[str, None] = {}
        self.read: dict[str, None] = {}
        self.captured: dict[str, None] = {}
        self.declared: list[ast.Global | ast.Nonlocal] = []

    def run(self, body: Iterable[ast.AST]) -> None:
        """Look at `body`, in order of appearance."""
        pending = list(body)[::-1]
        while pending:
            node: Any = pending.pop()
            cls = node.__class__
            self.kinds.add(cls)
            if cls is ast.Name:
                if node.ctx.__class__ is not ast.Load:
                    self.bound[node.id] = None
                if node.ctx.__class__ is not ast.Store:  # `del x`, too, wants x to be there
                    self.read[node.id] = None
            elif cls in BINDING_NOTHING:
                if cls is not ast.Constant:
                    pending += children(node)[::-1]
            else:
                pending += self._special(node)[::-1]
            if cls in OPERATIONS:
                self.kinds.add(node.op.__class__)
                if cls is ast.AugAssign and isinstance(node.target, ast.Name):
                    self.read[node.target.id] = None
            elif cls is ast.Compare:
                self.kinds.update([one.__class__ for one in node.ops])

    def _special(self, node: ast.AST) -> list[ast.AST]:
        """Note what `node` binds or holds; the parts of it that are still to be looked at."""
        if isinstance(node, COMPREHENSIONS):
            self._comprehension(node)
            return []
        if isinstance(node, DECLARING):
            self.declared.append(node)
        elif isinstance(node, ast.AnnAssign):
            if node.value is None and isinstance(node.target, ast.Name):
                self.annotated[node.target.id] = None
                return []
        elif isinstance(node, ast.alias):
            self.bound[(node.asname or node.name).split(".")[0]] = None
        elif isinstance(node, NAMED) and node.name:
            self.bound[node.name] = None
        self.captured.update(dict.fromkeys(_captured_by(node)))
        return evaluated_children(node)

    def _comprehension(self, node: Comprehension) -> None:
        uses = uses_of([node])
        self.read.update(dict.fromkeys(uses.read))
        self.captured.update(dict.fromkeys(uses.captured))
        self.bound.update(dict.fromkeys(_bound_outside(node)))
        self.kinds.update([one.__class__ for one in own_nodes([node])])

    def scope(self, parameters: tuple[str, ...]) -> NameScope:
        """The names of a function with these `parameters` and what was looked at as its body."""
        return _scope(parameters, self.bound, self.annotated, self.declared)


@dataclass(frozen=True)
class Outside:
    """What a function, with those nested in it, does to names that are not its own."""

    nonlocals_written: tuple[str, ...]
    globals_written: tuple[str, ...]
    globals_read: tuple[str, ...]  # declared `global` somewhere, and read


def outside_of(function: Function) -> Outside:
    """The declared effects of `function` and of all functions nested in it, sorted."""
    written: tuple[set[str], set[str]] = (set(), set())
    read: set[str] = set()
    every = list(nodes_in(function))
    if not any(node.__class__ in DECLARING for node in every):
        return Outside((), (), ())
    for inner in (node for node in every if isinstance(node, FUNCTIONS)):
        scope = scope_of(inner)
        if not (scope.nonlocals or scope.globals):
            continue
        body = inner.body if isinstance(inner.body, list) else [inner.body]
        bound = {*bound_names(body)}
        written[0].update(bound & {*scope.nonlocals})
        written[1].update(bound & {*scope.globals})
        read.update({*uses_of(body).read} & {*scope.globals})
    return Outside(tuple(sorted(written[0])), tuple(sorted(written[1])), tuple(sorted(read)))


def nonlocals_inside(trees: Iterable[ast.AST]) -> tuple[str, ...]:
    """The names that functions nested in `trees` declare `nonlocal`, sorted."""
    found: set[str] = set()
    for tree in trees:
        for node in nodes_in(tree):
            if isinstance(node, FUNCTIONS):
                found.update(scope_of(node).nonlocals)
    return tuple(sorted(found))
