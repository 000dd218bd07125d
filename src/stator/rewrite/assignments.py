"""Assignments to anything but a name -> staging calls.

    a[i] = v             stator__.setitem(a, i, v)
    obj.name = v         stator__.set(obj, "name", v)
    a, *b = v            a, b = stator__.unpack(v, 1, 0)
    x += v               x = stator__.augmented("+", x, v)
    del a[i]             stator__.delitem(a, i)

Python takes the value first, then the target's parts, once each, left to right; temporaries
keep that order where it could be seen.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from stator.rewrite.job import Job
from stator.rewrite.names import read_name
from stator.rewrite.template import constant, quote, staged
from stator.rewrite.walk import Walk
from stator.source.scopes import bound_names

Block = list[ast.stmt]
ITEM = "item__"
OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.MatMult: "@", ast.Div: "/", ast.Mod: "%",
    ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitOr: "|", ast.BitXor: "^",
    ast.BitAnd: "&", ast.FloorDiv: "//",
}  # fmt: skip


def rewrite_assignments(tree: ast.FunctionDef, job: Job) -> ast.FunctionDef:
    """`tree` with every store made to a name, or by a staging call."""
    return _Assignments(job).run(tree)


class _Assignments(Walk):
    def visit_Assign(self, node: ast.Assign) -> Block:
        if len(node.targets) == 1:
            return self.store(node.targets[0], node.value, node)
        new, value = self.keep(node.value, node)
        for target in node.targets:
            new.extend(self.store(target, _again(value), node))
        return new

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Block | ast.AST:
        """Annotations in a function are not evaluated; only a value matters."""
        if node.value is not None:
            return self.store(node.target, node.value, node)
        return ast.copy_location(ast.Pass(), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Block:
        target, operator = node.target, constant(OPERATORS[type(node.op)], at=node)
        if isinstance(target, ast.Name):
            old = read_name(target, self.job)
            value = staged("augmented", operator, old, node.value, at=node)
            return quote("NAME = VALUE", at=node, NAME=target.id, VALUE=value)
        new, base = self.keep(target.value, node, beside=node.value)
        if isinstance(target, ast.Attribute):
            old = ast.copy_location(ast.Attribute(base, target.attr, ast.Load()), target)
            value = staged("augmented", operator, old, node.value, at=node)
            return [*new, *_set(_again(base), target.attr, value, node)]
        more, index = self.keep(target.slice, node, beside=node.value)
        old = ast.copy_location(ast.Subscript(base, index, ast.Load()), target)
        value = staged("augmented", operator, old, node.value, at=node)
        return [*new, *more, *_setitem(_again(base), _again(index), value, node)]

    def visit_For(self, node: ast.For) -> ast.AST:
        """The body starts by storing the item in the target."""
        self.generic_visit(node)
        item = ast.copy_location(ast.Name(ITEM, ast.Load()), node.target)
        node.body = [*self.store(node.target, item, node.target), *node.body]
        node.target = ast.copy_location(ast.Name(ITEM, ast.Store()), node.target)
        return node

    visit_TestedFor = visit_For

    def visit_With(self, node: ast.With) -> ast.AST:
        self.generic_visit(node)
        start: Block = []
        for item in node.items:
            target = item.optional_vars
            if target is not None and not isinstance(target, ast.Name):
                held = self.temporary(target)
                start.extend(self.store(target, held, target))
                item.optional_vars = ast.copy_location(ast.Name(held.id, ast.Store()), target)
        node.body = [*start, *node.body]
        return node

    def visit_Delete(self, node: ast.Delete) -> Block:
        new: Block = []
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                call = staged("delitem", target.value, target.slice, at=node)
            elif isinstance(target, ast.Attribute):
                call = staged("delete", target.value, constant(target.attr, at=target), at=node)
            else:
                new.append(ast.copy_location(ast.Delete([target]), node))
                continue
            new.append(ast.copy_location(ast.Expr(call), node))
        return new

    def store(self, target: ast.expr, value: ast.expr, at: ast.AST) -> Block:
        """The statements of `target = value`."""
        if isinstance(target, ast.Tuple | ast.List):
            return self.unpack(target, value, at)
        if isinstance(target, ast.Name):
            return [ast.copy_location(ast.Assign([target], value), at)]
        assert isinstance(target, ast.Attribute | ast.Subscript)
        parts = [target.value, *([target.slice] if isinstance(target, ast.Subscript) else [])]
        before: Block = []
        if not (_is_plain(value) or self.unmoved(parts, value)):
            before, value = self.keep(value, at)
        if isinstance(target, ast.Attribute):
            return [*before, *_set(target.value, target.attr, value, at)]
        return [*before, *_setitem(target.value, target.slice, value, at)]

    def unpack(self, target: ast.Tuple | ast.List, value: ast.expr, at: ast.AST) -> Block:
        """Names are stored at once up to the first other target; the rest waits in temporaries."""
        pending: list[tuple[ast.expr, ast.Name]] = []
        slots: list[ast.expr] = []
        for item in target.elts:
            inner = item.value if isinstance(item, ast.Starred) else item
            if pending or not isinstance(inner, ast.Name):
                held = self.temporary(inner)
                pending.append((inner, held))
                inner = ast.copy_location(ast.Name(held.id, ast.Store()), inner)
            slots.append(inner)
        slot = ast.copy_location(ast.Tuple(slots, ast.Store()), target)
        new: Block = [ast.copy_location(ast.Assign([slot], _unpacked(target, value, at)), at)]
        for inner, held in pending:
            new.extend(self.store(inner, held, at))
        return new

    def keep(
        self, value: ast.expr, at: ast.AST, *, beside: ast.expr | None = None
    ) -> tuple[Block, ast.expr]:
        """`value` under a name, to be used more than once while `beside` is evaluated."""
        if _is_plain(value) and (beside is None or self.unmoved([value], beside)):
            return [], value
        held = self.temporary(value)
        return quote("NAME = VALUE", at=at, NAME=held.id, VALUE=value), held

    def temporary(self, at: ast.AST) -> ast.Name:
        return ast.copy_location(ast.Name(self.job.fresh.name("t"), ast.Load()), at)

    def unmoved(self, parts: Iterable[ast.expr], value: ast.expr) -> bool:
        """True when evaluating `value` cannot change what `parts` give."""
        changed = {*bound_names([value]), *self.job.facts.shared}
        changed |= {*self.job.facts.scope.nonlocals, *self.job.facts.scope.globals}
        names = {node.id for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)}
        return all(_is_plain(part) for part in parts) and not names & changed


def _is_plain(node: ast.expr) -> bool:
    """True for what can be evaluated at any time, any number of times."""
    if isinstance(node, ast.Tuple):
        return all(_is_plain(item) for item in node.elts)
    if isinstance(node, ast.Slice):
        parts = (node.lower, node.upper, node.step)
        return all(part is None or _is_plain(part) for part in parts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return isinstance(node.op, ast.USub | ast.UAdd)
    return isinstance(node, ast.Constant | ast.Name)


def _again(node: ast.expr) -> ast.expr:
    """A second tree for a kept value, since one node must not be in two places."""
    if isinstance(node, ast.Name):
        return ast.copy_location(ast.Name(node.id, ast.Load()), node)
    return node


def _unpacked(target: ast.Tuple | ast.List, value: ast.expr, at: ast.AST) -> ast.expr:
    stars = [index for index, item in enumerate(target.elts) if isinstance(item, ast.Starred)]
    items = value.elts if isinstance(value, ast.Tuple) else []
    fits = bool(items) and len(items) == len(target.elts)
    if fits and not stars and not any(isinstance(item, ast.Starred) for item in items):
        return value  # as many as there are targets, and nothing to iterate over
    before = stars[0] if stars else len(target.elts)
    after = len(target.elts) - before - 1 if stars else None
    return staged("unpack", value, constant(before, at=at), constant(after, at=at), at=at)


def _set(base: ast.expr, name: str, value: ast.expr, at: ast.AST) -> Block:
    call = staged("set", base, constant(name, at=at), value, at=at)
    return [ast.copy_location(ast.Expr(call), at)]


def _setitem(base: ast.expr, index: ast.expr, value: ast.expr, at: ast.AST) -> Block:
    return [ast.copy_location(ast.Expr(staged("setitem", base, index, value, at=at)), at)]
