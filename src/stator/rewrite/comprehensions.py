"""Comprehensions -> functions with ordinary loops, which the other passes then rewrite.

    [f(x) for x in xs if c]      def comp_1__(iter__):
                                     result__ = []
                                     for x in iter__:
                                         if c: result__.append(f(x))
                                     return result__
                                 comp_1__(xs)

A generator expression that its only reader takes whole (`sum(...)`, `torch.stack(...)`) is a
list comprehension; `any` and `all` stop early, by a `return` in the loop. Any other generator
expression is a generator function, in both of its forms (see `yields` and `machines`), which
`stator__.generator` makes a generator of.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from stator.errors import UnsupportedSyntax
from stator.rewrite.job import Job
from stator.rewrite.machines import rewrite_machine
from stator.rewrite.template import quote, staged
from stator.rewrite.walk import OwnTransformer, Walk
from stator.rewrite.yields import rewrite_yields
from stator.source.nodes import Comprehension, Search, TakenWhole, copy_tree, locate
from stator.source.scopes import bound_names

Block = list[ast.stmt]
Rewrite = Callable[[ast.FunctionDef, Job], ast.FunctionDef]
TAKES_ALL = frozenset({
    "sum", "list", "tuple", "sorted", "set", "frozenset", "dict", "max", "min", "deque", "Counter",
})  # fmt: skip
IN_TURN = frozenset({"max", "min"})  # they call their key between two items
SEARCHES = {"any": True, "all": False}
START = {
    ast.ListComp: "[]",
    TakenWhole: "[]",
    ast.SetComp: "stator__.new_set(set())",
    ast.DictComp: "{}",
}

COLLECT = """
def NAME(iter__):
    DECLARED
    result__ = START
    LOOP
    return result__
"""
GENERATE = """
def NAME(iter__):
    DECLARED
    LOOP
"""
SEARCH = """
def NAME(iter__):
    DECLARED
    LOOP
    return MISSED
"""

EFFECTS = (ast.Call, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)  # may have some


def rewrite_generators(tree: ast.FunctionDef, job: Job) -> ast.FunctionDef:
    """`tree` with the generator expressions that are taken whole made comprehensions."""
    taker = _Taker(frozenset(job.original.locals))
    tree.body = taker.statements(tree.body)
    return tree


class _Taker(OwnTransformer):
    """Runs before any fact is known, since it says when a name is read."""

    def __init__(self, bound: frozenset[str]) -> None:
        self.bound = bound  # names the function binds: not the builtins they look like

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not (node.args and isinstance(node.args[0], ast.GeneratorExp)):
            return node
        taken, only = node.args[0], len(node.args) == 1 and not node.keywords
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        name = "" if name in self.bound else name
        if name in SEARCHES and only:
            return Search.of(taken, found=SEARCHES[name])
        if name == "next" and len(node.args) <= 2 and not node.keywords:
            return staged("first", Search.of(taken, found=None), *node.args[1:], at=node)
        if name in TAKES_ALL and not (name in IN_TURN and node.keywords):
            node.args[0] = ast.copy_location(TakenWhole(taken.elt, taken.generators), taken)
        return node


def rewrite_comprehensions(tree: ast.FunctionDef, job: Job, rewrite: Rewrite) -> ast.FunctionDef:
    """`tree` with its comprehensions as functions, which `rewrite` takes through all passes."""
    return _Comprehensions(job, rewrite).run(tree)


class _Comprehensions(Walk):
    def __init__(self, job: Job, rewrite: Rewrite) -> None:
        super().__init__(job)
        self.rewrite = rewrite

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        (add,) = quote("result__.append(ITEM)", at=node.elt, ITEM=node.elt)
        return self.function(node, COLLECT, [add])

    visit_TakenWhole = visit_ListComp

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        if not any(isinstance(part, EFFECTS) for part in ast.walk(node)):
            first = node.generators[0]
            first.iter = staged("in_any_order", first.iter, at=first.iter)
        (add,) = quote("result__.add(ITEM)", at=node.elt, ITEM=node.elt)
        return self.function(node, COLLECT, [add])

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        """The key is evaluated before the value, other than in an assignment."""
        add = quote(
            "key__ = KEY\nresult__[key__] = VALUE", at=node.key, KEY=node.key, VALUE=node.value
        )  # fmt: skip
        return self.function(node, COLLECT, add)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        first, name = node.generators[0], self.job.fresh.name("gen")
        declared = self.job.declare(bound_names([node]))
        first_iter = self.expression(first.iter)
        body = quote("yield ITEM", at=node.elt, ITEM=node.elt)
        (new,) = quote(
            GENERATE, at=node, NAME=name, DECLARED=declared, LOOP=_loops(node, body)
        )  # fmt: skip
        assert isinstance(new, ast.FunctionDef)
        resumed = self.resumed(new)
        self.hoist(self.rewrite(locate(rewrite_yields(new, self.job)), self.job))
        return staged("generator", ast.Name(name, ast.Load()), resumed, first_iter, at=node)

    def resumed(self, tree: ast.FunctionDef) -> ast.expr:
        """Hoist the other form of a generator; None where it cannot have one."""
        try:
            new = rewrite_machine(copy_tree(tree), self.job)
        except UnsupportedSyntax:
            return ast.Constant(None)
        new.name = self.job.fresh.name("resume")
        self.hoist(self.rewrite(locate(new), self.job))
        return ast.Name(new.name, ast.Load())

    def visit_Search(self, node: Search) -> ast.AST:
        if node.found is None:
            return self.function(node, SEARCH, quote("return [ITEM]", at=node.elt, ITEM=node.elt))
        found = ast.Constant(node.found)
        text = "if TEST: return FOUND" if node.found else "if not TEST: return FOUND"
        return self.function(node, SEARCH, quote(text, at=node.elt, TEST=node.elt, FOUND=found))

    def function(self, node: Comprehension, template: str, body: Block) -> ast.AST:
        """Hoist the function of `node`, and call it in its place."""
        first, name = node.generators[0], self.job.fresh.name("comp")
        written = bound_names([node])
        first_iter = self.expression(first.iter)
        holes: dict[str, str | ast.expr | Block] = {"NAME": name, "LOOP": _loops(node, body)}
        holes["DECLARED"] = self.job.declare(written)
        if isinstance(node, Search):
            missed = ast.List([], ast.Load()) if node.found is None else None
            holes["MISSED"] = missed or ast.Constant(not node.found)
        else:
            holes["START"] = start = ast.parse(START[type(node)], mode="eval").body
            for part in ast.walk(start):
                ast.copy_location(part, node)
        (new,) = quote(template, at=node, **holes)
        assert isinstance(new, ast.FunctionDef)
        self.hoist(self.rewrite(locate(new), self.job))
        function = ast.copy_location(ast.Name(name, ast.Load()), node)
        call = ast.Call(function, [first_iter], [])
        return ast.copy_location(call, node)


def _loops(node: Comprehension, body: Block) -> Block:
    """`body` in the loops of all clauses; the first one is over `iter__`."""
    first = node.generators[0]
    first.iter = ast.copy_location(ast.Name("iter__", ast.Load()), first.iter)
    for clause in reversed(node.generators):
        body = _loop(clause, body)
    return body


def _loop(clause: ast.comprehension, body: Block) -> Block:
    """`body` in the loop, and under the conditions, of one `for ... if ...` clause."""
    for test in reversed(clause.ifs):
        body = quote("if TEST: BODY", at=test, TEST=test, BODY=body)
    loop = ast.For(clause.target, clause.iter, body, [], None)
    return [ast.copy_location(loop, clause.target)]
