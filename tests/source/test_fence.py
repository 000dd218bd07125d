"""Every kind of node has a decision, and a refusal says what, where and how to fix it."""

from __future__ import annotations

import ast
import warnings

import pytest

from stator.errors import UnsupportedSyntax
from stator.rewrite.convert import convert
from stator.source.fence import FENCE, check
from stator.source.scopes import survey
from stator.source.text import read_source
from tests.rewrite.random_programs import function_from


def node_classes(base: type) -> list[type]:
    found = [base]
    for child in base.__subclasses__():
        found += node_classes(child)
    return [kind for kind in found if kind.__module__ in ("ast", "_ast")]


def test_every_kind_of_node_has_a_decision():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        names = {kind.__name__ for kind in node_classes(ast.AST)} - {"AST", "_ABC"}
    assert sorted(names - FENCE.keys()) == []


def test_a_refusal_has_a_reason_and_a_fix():
    refused = [row for row in FENCE.values() if row.verdict == "refused"]
    assert refused
    assert all(row.what and row.fix for row in refused)


def checked(text: str) -> None:
    source = read_source(function_from(text, "f"))
    check(source, survey(source.tree))


def refusal(text: str) -> UnsupportedSyntax:
    with pytest.raises(UnsupportedSyntax) as caught:
        checked(text)
    return caught.value


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("return vars()", "a call of `vars` cannot be converted"),
        ("return dir()", "a call of `dir` cannot be converted"),
        ("exec('x = 1')", "a call of `exec` cannot be converted"),
        ("return eval('x')", "a call of `eval` cannot be converted"),
        ("try: pass\n    except* ValueError: pass", "`except*` cannot be converted"),
        ("async def g(): pass", "`async def` cannot be converted"),
    ],
)
def test_what_is_refused(body, problem):
    assert refusal(f"def f(x):\n    {body}\n").problem == problem


@pytest.mark.parametrize("body", ["return vars(x)", "return dir(x)", "return x.eval()"])
def test_what_only_looks_like_it_is_not_refused(body):
    checked(f"def f(x):\n    {body}\n")


def test_what_a_nested_function_does_is_its_own_affair():
    checked("def f(x):\n    return lambda: locals()\n")


def test_an_async_function_is_refused():
    error = refusal("async def f(x):\n    async for y in x: pass\n")
    assert error.problem == "`async def` cannot be converted"


def test_a_refusal_shows_the_place(tmp_path):
    file = tmp_path / "model.py"
    file.write_text("def f(x):\n    if x:\n        try: x()\n        except* ValueError: pass\n")
    names: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    with pytest.raises(UnsupportedSyntax) as caught:
        convert(names["f"], None)
    assert str(caught.value) == (
        "[ST102] `except*` cannot be converted\n"
        f"  at {file}:4, in f\n"
        "            except* ValueError: pass\n"
        "            ^\n"
        "  fix: use `except`\n"
        "  edit:\n"
        "    - except* ValueError: pass\n"
        "    + except ValueError: pass"
    )


def test_the_header_of_a_function_is_not_converted():
    checked("def f(x, n=eval('1')):\n    return x + n\n")
