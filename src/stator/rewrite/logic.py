"""`and`, `or`, `not`, comparisons and `A if T else B` -> staging calls.

    A and B             stator__.and_(A, lambda: B)
    -A                  stator__.unary("-", A)
    A < B               stator__.compare(A, "<", B)
    A < B < C           stator__.compare_chain(A, ("<", lambda: B), ("<", lambda: C))
    A if T else B       stator__.if_expr(T, lambda: A, lambda: B)

What may not be evaluated is passed as a thunk. A `lambda` would keep a `:=` to itself, so a
thunk with one is a `def` before the statement; `stator__.binding` tells staging of its names.
"""

from __future__ import annotations

import ast

from stator.rewrite.job import Job
from stator.rewrite.template import constant, quote, staged
from stator.rewrite.walk import Walk
from stator.source.scopes import bound_names

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
        self.generic_visit(node)
        return staged(
            "if_expr", node.test, self.thunk(node.body), self.thunk(node.orelse), at=node
        )  # fmt: skip

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        signs = [constant(COMPARISONS[type(sign)], at=node) for sign in node.ops]
        if len(signs) == 1:
            return staged("compare", node.left, signs[0], node.comparators[0], at=node)
        pairs = [
            ast.Tuple([sign, self.thunk(operand)], ast.Load())
            for sign, operand in zip(signs, node.comparators, strict=True)
        ]
        return staged("compare_chain", node.left, *pairs, at=node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """`assert TEST, MESSAGE`: the message is made only for a failure."""
        self.generic_visit(node)
        message = constant(None, at=node) if node.msg is None else self.thunk(node.msg)
        call = staged("assert_stmt", node.test, message, at=node)
        return ast.copy_location(ast.Expr(call), node)

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
    return ast.copy_location(ast.Lambda(nothing, ast.Name(name, ast.Load())), at)


THUNK = """
def NAME():
    DECLARED
    return VALUE
"""
