"""The state of a branch or a loop: what it changes and somebody still wants."""

from __future__ import annotations

import ast

import pytest

from stator.source.facts import Facts, is_straight, straight_facts, study, unsure_names
from stator.source.scopes import scope_of, survey


def facts(body: str) -> tuple[Facts, dict[str, tuple[str, ...]]]:
    """The facts of a function of (a, b), and its states by the kind of statement."""
    lines = [f"    {line}" for line in body.splitlines()]
    (function,) = ast.parse("\n".join(["def f(a, b):", *lines])).body
    assert isinstance(function, ast.FunctionDef)
    found = study(function, scope_of(function))
    return found, {type(node).__name__: names for node, names in found.state.items()}


@pytest.mark.parametrize(
    ("body", "state"),
    [
        ("if a: x = 1\nreturn x", ("x",)),
        ("if a: x = 1\nreturn a", ()),
        ("if a: b = b + 1\nreturn a", ("b",)),  # the other side must not see the change
        ("if a: x = 1; y = x\nreturn y", ("y",)),
        ("x = 0\ng = lambda: x\nif a: x = 1\nreturn g", ("x",)),
        ("if a: x = 1\nx = 2\nreturn x", ()),
        ("try:\n  if a: x = 1; a()\nexcept E: return x\nreturn 0", ("x",)),
    ],
)
def test_the_state_of_a_branch(body, state):
    assert facts(body)[1]["If"] == state


@pytest.mark.parametrize(
    ("body", "state"),
    [
        ("while a: a = a - 1", ("a",)),
        ("while a: t = b; a = t", ("a",)),
        ("while a: t = b; a = t\nreturn t", ("a", "t")),
        ("while (n := a()): b = n\nreturn b", ("b", "n")),
        ("s = 0\nwhile a: s = s + 1\nreturn 0", ("s",)),
    ],
)
def test_the_state_of_a_while(body, state):
    assert facts(body)[1]["While"] == state


@pytest.mark.parametrize(
    ("body", "state"),
    [
        ("for i in a: b = b + i\nreturn b", ("b",)),
        ("for i in a: pass\nreturn i", ("i",)),
        ("for i in a: t = i", ()),
    ],
)
def test_the_state_of_a_for(body, state):
    assert facts(body)[1]["For"] == state


def test_a_call_may_change_what_a_nested_function_assigns():
    body = "n = 0\ndef g():\n  nonlocal n\n  n = 1\nif a: g()\nreturn n"
    assert facts(body)[1]["If"] == ("n",)


def test_names_declared_global_are_always_in_the_state():
    assert facts("global g\nif a: g = 1")[1]["If"] == ("g",)


def test_a_name_changed_but_unused_after_is_dead():
    found, _ = facts("if a: b = b + 1; c = b\nelse: c = b\nreturn c")
    assert list(found.dead.values()) == [("b",)]


def test_only_names_that_may_be_unbound_are_tracked():
    found, _ = facts("x = 1\nif a: x = 2; y = 3\nreturn x, y")
    assert found.tracked == {"y"}
    assert found.initialised == ("y",)
    assert [node.id for node in found.unsure] == ["y"]


def test_a_deleted_parameter_is_tracked_but_not_initialised():
    found, _ = facts("if b: del a\nreturn a")
    assert found.tracked == {"a"}
    assert found.initialised == ()


def test_names_that_a_nested_function_may_find_undefined():
    (function,) = ast.parse("def f(p):\n if p: x = 1\n y = 2\n def g(): return x + y").body
    assert isinstance(function, ast.FunctionDef)
    assert unsure_names([function]) == {"x"}


STRAIGHT = ("return a", "x = a + b\nx += f(x)\nreturn {b: [x, *a]}", "x = y\ny = a if b else not a")
BENT = (
    "return a\nx = 1", "if a: x = 1", "x: int\nreturn x", "return [x for x in a]",
    "return (x := a)", "return lambda: a", "del a", "import a", "global x\nx = 1", "raise a",
)  # fmt: skip


@pytest.mark.parametrize("body", STRAIGHT)
def test_the_facts_of_a_function_that_runs_straight_take_no_study(body):
    tree = ast.parse("def f(a, b):\n    " + body.replace("\n", "\n    ")).body[0]
    assert isinstance(tree, ast.FunctionDef)
    found = survey(tree)
    assert is_straight(tree.body, found.kinds)
    studied, straight = study(tree, found.scope), straight_facts(found.scope)
    assert (studied.scope, studied.tracked, studied.initialised, studied.shared) == (
        straight.scope, straight.tracked, straight.initialised, straight.shared
    )  # fmt: skip
    assert not studied.state


@pytest.mark.parametrize("body", BENT)
def test_what_leaves_early_or_binds_elsewhere_does_not_run_straight(body):
    tree = ast.parse("def f(a, b):\n    " + body.replace("\n", "\n    ")).body[0]
    assert isinstance(tree, ast.FunctionDef)
    assert not is_straight(tree.body, survey(tree).kinds)
