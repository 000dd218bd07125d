"""Calls -> staging calls.

    f(a, *b, c=d, **k)  stator__.call(f, a, *stator__.positionals(b, False),
                                      **stator__.keywords(("c", None), d, k))
    super()             super(__class__, self)
    breakpoint()        stator__.debugger(breakpoint)()
    globals()           stator__.module_names(globals())
    @f                  @stator__.decorator(f)
    class C: ...        @stator__.new_class()
                        class C: ...

A bare `super()` looks at the frame it is called from, which need not be the method's own any
more, so it receives what it would find. A debugger stops in the frame that calls it, so that call
stays where it is. What defines a class (its body, a metaclass, `__init_subclass__`) runs as it
is: staging sees it begin, where the decorators are evaluated, and end, where they are applied.
"""

from __future__ import annotations

import ast
import re

from stator.rewrite.job import Job
from stator.rewrite.template import constant, is_staged, staged
from stator.rewrite.walk import Walk

GENERATED = re.compile(r"(comp|thunk)_\d+__")


def rewrite_calls(tree: ast.FunctionDef, job: Job) -> ast.FunctionDef:
    """`tree` with its calls made by a staging call."""
    return _Calls(job).run(tree)


class _Calls(Walk):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if _is_bare_super(node) and self.job.first_parameter is not None:
            names = ("__class__", self.job.first_parameter)
            node.args = [ast.copy_location(ast.Name(name, ast.Load()), node) for name in names]
            return node
        if _stops_here(node.func):
            node.func = staged("debugger", node.func, at=node)
            return node
        if isinstance(node.func, ast.Name) and node.func.id == "globals":
            return staged("module_names", node, at=node)
        if _stays_plain(node):
            return node
        is_only = len(node.args) == 1
        args = [_spread(arg, is_only=is_only) for arg in node.args]
        new = staged("call", node.func, *args, at=node)
        new.keywords = _spread_keywords(node)
        return new

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        super().visit_FunctionDef(node)
        node.decorator_list = [staged("decorator", one, at=one) for one in node.decorator_list]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        super().visit_ClassDef(node)
        decorators = [staged("decorator", one, at=one) for one in node.decorator_list]
        node.decorator_list = [*decorators, staged("new_class", at=node)]
        return node


def _spread(node: ast.expr, *, is_only: bool) -> ast.expr:
    """`*E`: staging looks at E before Python takes it apart."""
    if isinstance(node, ast.Starred):
        node.value = staged("positionals", node.value, ast.Constant(is_only), at=node)
    return node


def _spread_keywords(call: ast.Call) -> list[ast.keyword]:
    """Keywords with `**E` among them likewise: all of them, since two may be the same."""
    if all(keyword.arg is not None for keyword in call.keywords):
        return call.keywords
    names = constant(tuple([keyword.arg for keyword in call.keywords]), at=call)
    values = [keyword.value for keyword in call.keywords]
    merged = staged("keywords", names, *values, at=call)
    return [ast.copy_location(ast.keyword(None, merged), call)]


def _is_bare_super(node: ast.Call) -> bool:
    bare = not (node.args or node.keywords)
    return isinstance(node.func, ast.Name) and node.func.id == "super" and bare


def _stays_plain(node: ast.Call) -> bool:
    function = node.func
    if isinstance(function, ast.Name):
        generated = GENERATED.fullmatch(function.id) is not None
        return generated or _is_bare_super(node)
    return isinstance(function, ast.Attribute) and is_staged(function)


def _stops_here(node: ast.expr) -> bool:
    """`breakpoint`, or `stator__.get(E, "set_trace")`."""
    if isinstance(node, ast.Name):
        return node.id == "breakpoint"
    return (
        isinstance(node, ast.Call)
        and is_staged(node.func)
        and len(node.args) == 2
        and isinstance(node.args[-1], ast.Constant)
        and node.args[-1].value == "set_trace"
    )
