"""Which names a function binds, reads and captures."""

from __future__ import annotations

import ast
from pathlib import Path

from stator.source.nodes import FUNCTIONS
from stator.source.scopes import (
    bound_names,
    free_names,
    nonlocals_inside,
    outside_of,
    own_nodes,
    scope_of,
    survey,
    uses_of,
)
from tests.zoo import objects, searches


def tree(text: str) -> ast.FunctionDef:
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    return function


EVERYTHING = """
def f(a, /, b, *c, d=default, **e):
    global g
    nonlocal n
    g = n = 1
    import os.path, sys as s
    for i, (j, *k) in a: pass
    with a as w: pass
    try: pass
    except E as error: pass
    def inner(p): q = r
    class C(base): attribute = 1
    [x for x in y if (z := x)]
    v: int
    del b
"""


def test_the_names_of_a_function():
    scope = scope_of(tree(EVERYTHING))
    assert scope.parameters == ("a", "b", "d", "c", "e")
    assert scope.globals == ("g",)
    assert scope.nonlocals == ("n",)
    assert set(scope.locals) - set(scope.parameters) == {
        "os", "s", "i", "j", "k", "w", "error", "inner", "C", "z", "v",
    }  # fmt: skip


def test_one_survey_finds_what_the_walks_find_one_by_one():
    files = (objects.__file__, searches.__file__)
    trees = [tree(EVERYTHING), *(ast.parse(Path(file).read_text()) for file in files)]
    every = [node for one in trees for node in ast.walk(one) if isinstance(node, FUNCTIONS)]
    assert len(every) > 50
    for function in every:
        body = function.body if isinstance(function.body, list) else [function.body]
        found, uses = survey(function), uses_of(body)
        scope = scope_of(function)
        assert found.scope == scope
        assert set(found.read) == {*uses.read}
        outside = {*uses.read, *uses.captured, *scope.nonlocals} - {*scope.locals, *scope.globals}
        assert set(found.free) == outside
        assert found.kinds >= {node.__class__ for node in own_nodes(body)}


def test_a_comprehension_hides_its_targets_and_reads_at_once():
    uses = uses_of(ast.parse("[x + k for x in xs for y in x]").body)
    assert uses.read == ("xs", "k")
    assert uses.captured == ()


def test_lambdas_and_generator_expressions_capture():
    uses = uses_of(ast.parse("h(lambda x=d: x + k, (m for y in ys))").body)
    assert set(uses.read) == {"h", "d", "ys"}
    assert set(uses.captured) == {"k", "m"}


def test_an_augmented_assignment_reads_and_binds():
    body = ast.parse("x += y").body
    assert set(uses_of(body).read) == {"x", "y"}
    assert bound_names(body) == ("x",)


def test_free_names_pass_through_nested_functions():
    function = tree("def f(a):\n def g(b):\n  return lambda: a + b + c\n return g")
    assert free_names(function) == ("c",)


def test_effects_on_outer_names_are_found_in_nested_functions():
    function = tree(
        "def f():\n def g():\n  nonlocal n\n  global w, r\n  n = w = r\n  n += 1\n return g"
    )
    outside = outside_of(function)
    assert outside.nonlocals_written == ("n",)
    assert outside.globals_written == ("w",)
    assert outside.globals_read == ("r",)
    assert nonlocals_inside(function.body) == ("n",)
