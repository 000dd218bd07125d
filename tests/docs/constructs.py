"""CONSTRUCTS: what docs/syntax.md has a section for, and how a program that uses it is told."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Uses = Callable[[ast.AST], bool]


@dataclass(frozen=True)
class Construct:
    """A part of the language: its title, and whether a node is a use of it."""

    title: str
    uses: Uses


def node(*kinds: type[ast.AST], when: Callable[[Any], Any] = lambda _: True) -> Uses:
    """A node of one of `kinds`."""
    return lambda one: isinstance(one, kinds) and bool(when(one))


def call(*names: str) -> Uses:
    """A call of a function of one of these names."""
    return node(ast.Call, when=lambda one: isinstance(one.func, ast.Name) and one.func.id in names)


def method(*names: str) -> Uses:
    """A call of a method of one of these names."""
    return node(
        ast.Call, when=lambda one: isinstance(one.func, ast.Attribute) and one.func.attr in names
    )


def loop_over(*names: str) -> Uses:
    """A `for` over a call of one of these."""

    def over(one: ast.For) -> bool:
        if not isinstance(one.iter, ast.Call):
            return False
        name = one.iter.func
        return getattr(name, "id", getattr(name, "attr", None)) in names

    return node(ast.For, when=over)


def either(*uses: Uses) -> Uses:
    """Any of these."""
    return lambda one: any(use(one) for use in uses)


def holds(*kinds: type[ast.AST]) -> Callable[[ast.AST], bool]:
    """Whether one of `kinds` is inside a node."""
    return lambda one: any(isinstance(n, kinds) for n in ast.walk(one) if n is not one)


def has_operator(*kinds: type[ast.AST]) -> Callable[[ast.Compare], bool]:
    """Whether a comparison has one of these operators."""
    return lambda one: isinstance(one, ast.Compare) and any(isinstance(o, kinds) for o in one.ops)


def _is_elif(one: ast.If) -> bool:
    return len(one.orelse) == 1 and isinstance(one.orelse[0], ast.If)


def _is_true(one: ast.While) -> bool:
    return isinstance(one.test, ast.Constant)


def _is_none(one: ast.Compare) -> bool:
    parts = (one.left, *one.comparators)
    return any(isinstance(part, ast.Constant) and part.value is None for part in parts)


def _is_super(one: ast.Call) -> bool:
    return isinstance(one.func, ast.Name) and one.func.id == "super"


def _ends_with_underscore(one: ast.Call) -> bool:
    name = one.func.attr if isinstance(one.func, ast.Attribute) else ""
    return name.endswith("_") and not name.startswith("_")


LOOPS = (ast.While, ast.For)
JUMPS = (ast.Break, ast.Continue, ast.Return)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)
FUNCTIONS = (ast.FunctionDef, ast.Lambda)

GROUPS: dict[str, tuple[Construct, ...]] = {
    "Branches": (
        Construct("`if … else`", node(ast.If)),
        Construct("`elif`", node(ast.If, when=_is_elif)),
        Construct("`a if c else b`", node(ast.IfExp)),
        Construct("`match`", node(ast.Match)),
        Construct("walrus `:=`", node(ast.NamedExpr)),
    ),
    "Loops": (
        Construct("`while`", node(ast.While)),
        Construct("`while True` with `break`", node(ast.While, when=_is_true)),
        Construct("`while … else`", node(ast.While, when=lambda one: one.orelse)),
        Construct("`for`", node(ast.For)),
        Construct("`for … in range(…)`", loop_over("range")),
        Construct("`for … in enumerate(…)`", loop_over("enumerate")),
        Construct("`for … in zip(…)`", loop_over("zip")),
        Construct("`for` over a dict's items, keys or values",
                  loop_over("items", "keys", "values")),
        Construct("`for … in reversed(…)` or `sorted(…)`", loop_over("reversed", "sorted")),
        Construct("`for … else`", node(ast.For, when=lambda one: one.orelse)),
        Construct("loops in loops", node(*LOOPS, when=holds(*LOOPS))),
    ),
    "Jumps": (
        Construct("`break`", node(ast.Break)),
        Construct("`continue`", node(ast.Continue)),
        Construct("`return` in a loop", node(*LOOPS, when=holds(ast.Return))),
        Construct("early `return`", node(ast.If, when=holds(ast.Return))),
    ),
    "Logic and comparisons": (
        Construct("`and`, `or`", node(ast.BoolOp)),
        Construct("`not`", node(ast.UnaryOp, when=lambda one: isinstance(one.op, ast.Not))),
        Construct("chained comparison", node(ast.Compare, when=lambda one: len(one.ops) > 1)),
        Construct("`in`, `not in`", has_operator(ast.In, ast.NotIn)),
        Construct("`is None`, `is not None`", node(ast.Compare, when=_is_none)),
        Construct("`any`, `all`", call("any", "all")),
        Construct("`min`, `max`, `sum`", call("min", "max", "sum")),
        Construct("`abs`, `divmod`, `round`, `pow`", call("abs", "divmod", "round", "pow")),
        Construct("`isinstance`, `type`, `hasattr`, `getattr`",
                  call("isinstance", "type", "hasattr", "getattr")),
    ),
    "Numbers and text": (
        Construct("`int()`, `float()`, `bool()`, `complex()`",
                  call("int", "float", "bool", "complex")),
        Construct("`.item()`", method("item")),
        Construct("`.tolist()`", method("tolist")),
        Construct("`len`", call("len")),
        Construct("f-strings, `str`, `format`",
                  either(node(ast.JoinedStr), call("str", "repr", "format"), method("format"))),
        Construct("`print`", call("print")),
        Construct("Python arithmetic and augmented assignment",
                  either(node(ast.AugAssign), node(ast.BinOp))),
    ),
    "Errors": (
        Construct("`assert`", node(ast.Assert)),
        Construct("`raise`", node(ast.Raise)),
        Construct("`try … except`", node(ast.Try, when=lambda one: one.handlers)),
        Construct("`finally`", node(ast.Try, when=lambda one: one.finalbody)),
        Construct("`with`", node(ast.With)),
    ),
    "Functions": (
        Construct("functions in functions", node(ast.FunctionDef, when=holds(ast.FunctionDef))),
        Construct("`lambda`", node(ast.Lambda)),
        Construct("`nonlocal`", node(ast.Nonlocal)),
        Construct("`global`", node(ast.Global)),
        Construct("`*args`, `**kwargs`", either(
            node(ast.arguments, when=lambda one: one.vararg or one.kwarg), node(ast.Starred))),
        Construct("generators", node(ast.Yield, ast.YieldFrom)),
        Construct("methods, `super()`, modules",
                  either(node(ast.ClassDef), node(ast.Call, when=_is_super))),
        Construct("calls of functions and methods", node(ast.Call)),
    ),
    "Variables": (
        Construct("unpacking", node(ast.Tuple, when=lambda one: isinstance(one.ctx, ast.Store))),
        Construct("`del`", node(ast.Delete)),
        Construct("attributes that are set",
                  node(ast.Attribute, when=lambda one: isinstance(one.ctx, ast.Store))),
        Construct("None on some paths",
                  node(ast.Constant, when=lambda one: one.value is None)),
    ),
    "Lists, dicts, sets": (
        Construct("`append`, `extend`, `insert`", method("append", "extend", "insert")),
        Construct("`pop`, `remove`, `clear`", method("pop", "remove", "clear", "popitem")),
        Construct("`sort`, `sorted`, `reversed`",
                  either(method("sort", "reverse"), call("sorted", "reversed"))),
        Construct("list displays", node(ast.List)),
        Construct("dict displays and items", either(node(ast.Dict), method(
            "items", "keys", "values", "get", "update", "setdefault"))),
        Construct("sets", either(node(ast.Set, ast.SetComp), call("set", "frozenset"))),
        Construct("comprehensions", node(*COMPREHENSIONS)),
        Construct("generator expressions", node(ast.GeneratorExp)),
        Construct("slices", node(ast.Slice)),
    ),
    "Tensors": (
        Construct("items and slices that are set",
                  node(ast.Subscript, when=lambda one: isinstance(one.ctx, ast.Store))),
        Construct("methods that write in place", node(ast.Call, when=_ends_with_underscore)),
        Construct("sizes: `.shape`, `.size()`", either(
            node(ast.Attribute, when=lambda one: one.attr == "shape"), method("size"))),
        Construct("`stack`, `cat` of lists", method("stack", "cat")),
        Construct("data-dependent shapes: `nonzero`, masks", method("nonzero", "unique")),
        Construct("numpy", either(
            method("numpy", "from_numpy"),
            node(ast.Name, when=lambda one: one.id in ("np", "numpy")))),
        Construct("operators on tensors", node(ast.BinOp, ast.UnaryOp, ast.Compare)),
    ),
}  # fmt: skip
