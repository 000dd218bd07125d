"""`and`, `or`, `not`, comparisons and `A if T else B` -> staging calls.

    A and B             stator__.and_(A, lambda: B)
    -A                  stator__.unary("-", A)
    A < B               stator__.compare(A, "<", B)
    A < B < C           stator__.compare_chain(A, ("<", lambda: B), ("<", lambda: C))
    A if T else B       stator__.if_expr(T, lambda: A, lambda: B)

In a *test position* only the truth of an expression is used, so the value that Python's `and` or
`or` would give is never made:

    if A and B:         if stator__.test_and(A, lambda: B):
    if A or B:          if stator__.test_or(A, lambda: B):
    if A < B < C:       if stator__.test_chain(A, ("<", lambda: B), ("<", lambda: C)):
    if (A if T else B): if stator__.test_if(T, lambda: A, lambda: B):

Test positions are those of CPython's own compiler, so a user's `__bool__` is called as often: the
test of `if`, `while`, `assert`, a ternary or a comprehension, and the parts of such a test.

What may not be evaluated is passed as a thunk. A `lambda` would keep a `:=` to itself, so a
thunk with one is a `def` before the statement; `stator__.binding` tells staging of its names.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from stator.rewrite.job import Job
from stator.rewrite.template import constant, quote, staged
from stator.rewrite.walk import Walk
from stator.source.scopes import bound_names

Rewrite = Callable[[ast.expr], ast.expr]
COMPARISONS = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


def rewrite_logic(tree: ast.FunctionDef, job: Job) -> ast.FunctionDef:
    """`tree` with its logic made by staging calls."""
    return _Logic(job).run(tree)


SIGNS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}


class _Logic(Walk):
    def visit_If(self, node: ast.If) -> ast.AST:
        node.test = self.test(node.test)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        node.test = self.test(node.test)
        node.body = self.block(node.body)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Python's own numbers, lists and strings may be captured; tensors would do without."""
        self.generic_visit(node)
        sign = constant(SIGNS[type(node.op)], at=node)
        return staged("arithmetic", node.left, sign, node.right, at=node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        first, *others = node.values
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return staged(name, first, *(self.thunk(part) for part in others), at=node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return staged("not_", node.operand, at=node)
        if isinstance(node.operand, ast.Constant):
            return node
        return staged("unary", constant(UNARY[type(node.op)], at=node), node.operand, at=node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self.choice("if_expr", node, self.expression)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        return self.comparison("compare_chain", node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """`assert TEST, MESSAGE`: the message is made only for a failure."""
        test = self.test(node.test)
        message = node.msg and self.thunk(self.expression(node.msg))
        call = staged("assert_stmt", test, message or constant(None, at=node), at=node)
        return ast.copy_location(ast.Expr(call), node)

    def test(self, node: ast.expr) -> ast.expr:
        """`node` rewritten in a test position: its truth instead of its value."""
        match node:
            case ast.BoolOp(values=[first, *others]):
                name = "test_and" if isinstance(node.op, ast.And) else "test_or"
                first = self.test(first)
                return staged(name, first, *(self.thunk(self.test(v)) for v in others), at=node)
            case ast.UnaryOp(op=ast.Not()):
                return staged("not_", self.test(node.operand), at=node)
            case ast.IfExp():
                return self.choice("test_if", node, self.test)
            case ast.Compare():
                return self.comparison("test_chain", node)
        return self.expression(node)

    def choice(self, name: str, node: ast.IfExp, part: Rewrite) -> ast.expr:
        """`A if T else B`, whose A and B are rewritten by `part`."""
        test = self.test(node.test)
        sides = [self.thunk(part(side)) for side in (node.body, node.orelse)]
        return staged(name, test, *sides, at=node)

    def comparison(self, chain: str, node: ast.Compare) -> ast.expr:
        """One comparison, or the staging call `chain` for several."""
        self.generic_visit(node)
        signs = [constant(COMPARISONS[type(sign)], at=node) for sign in node.ops]
        if len(signs) == 1:
            return staged("compare", node.left, signs[0], node.comparators[0], at=node)
        pairs = [
            ast.Tuple([sign, self.thunk(operand)], ast.Load())
            for sign, operand in zip(signs, node.comparators, strict=True)
        ]
        return staged(chain, node.left, *pairs, at=node)

    def thunk(self, node: ast.expr) -> ast.expr:
        """A function of no arguments that evaluates `node` in its own scope."""
        written = bound_names([node])
        if not written:
            nothing = ast.arguments([], [], None, [], [], None, [])
            return ast.copy_location(ast.Lambda(nothing, node), node)
        name = self.job.fresh.name("thunk")
        declared = self.job.declare(written)
        self.hoist(*quote(THUNK, at=node, NAME=name, DECLARED=declared, VALUE=node))
        reads = [_thunk_of(one, node) for one in sorted({*written})]
        return staged(
            "binding", ast.copy_location(ast.Name(name, ast.Load()), node), *reads, at=node
        )


def _thunk_of(name: str, at: ast.AST) -> ast.expr:
    nothing = ast.arguments([], [], None, [], [], None, [])
    read = ast.copy_location(ast.Name(name, ast.Load()), at)
    return ast.copy_location(ast.Lambda(nothing, read), at)


THUNK = """
def NAME():
    DECLARED
    return VALUE
"""
