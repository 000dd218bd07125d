"""Reads that may come before a name is bound."""

from __future__ import annotations

import ast

import pytest

from stator.source.definite import definite_assignment
from stator.source.scopes import scope_of


@pytest.mark.parametrize(
    ("body", "unsure"),
    [
        ("x = 1\nreturn x", []),
        ("if a: x = 1\nreturn x", ["x"]),
        ("if a: x = 1\nelse: x = 2\nreturn x", []),
        ("if a: x = 1\nelse: raise a\nreturn x", []),
        ("while a: x = 1\nreturn x", ["x"]),
        ("for x in a: y = x\nreturn y", ["y"]),
        ("for x in a: a(x)", []),
        ("x = 1\nwhile a: del x\nreturn x", ["x", "x"]),
        ("try: x = 1\nexcept E: pass\nreturn x", ["x"]),
        ("try: x = 1\nexcept E: raise\nreturn x", []),
        ("try: a()\nfinally: x = 1\nreturn x", []),
        ("try: a()\nexcept E as x: x()\nreturn x", ["x"]),
        ("with a as x: y = x\nreturn y", ["y"]),
        ("with torch.no_grad(): y = x\nreturn y", []),
        ("with suppress(E): y = 1\nreturn y", ["y"]),
        ("a and (x := 1)\nreturn x", ["x"]),
        ("(x := 1) and a\nreturn x", []),
        ("return (x if (x := a) else x)", []),
        ("if a: k = 1\nreturn [k for _ in a]", ["k"]),
        ("return [x for x in a]", []),
        ("if a: x = 1\nx += 1", ["x"]),
        ("if a: x = 1\ndel x", ["x"]),
        ("return len(a)", []),
    ],
)
def test_reads_that_may_find_nothing(body, unsure):
    lines = [f"    {line}" for line in body.splitlines()]
    (function,) = ast.parse("\n".join(["def f(a):", *lines])).body
    assert isinstance(function, ast.FunctionDef)
    found = definite_assignment(function.body, scope_of(function)).unsure
    assert sorted(node.id for node in found) == unsure
