"""Walks over trees: what is right inside a node, and the places of nodes without one."""

import ast

import pytest

from stator.source.nodes import _PARTS, PLACE_FIELDS, children, inner_fields, locate

TEXTS = (
    "f(a, *b, key=c, **d)[0] = x.y + -1", "a < b <= c", "for i in x:\n  pass\nelse:\n  y = i",
    "if a:\n  b\nelif c:\n  d\nelse:\n  e", "while a:\n  b\nelse:\n  c", "x, (y, z) = [1, *t]",
    "{1: 2, **d}", "lambda a, *b, c=1, **d: a", "[i async for i in x if i]", "f'{x!r:>{n}}'",
    "try:\n  a\nexcept E as e:\n  b\nfinally:\n  c", "with a as b, c:\n  d", "x[1:2, ...]",
    "@d\ndef f(a: int, /, b=1, *c, d=2, **e) -> g:\n  nonlocal h\n  return i\n  return",
)  # fmt: skip


def by_fields(node):
    found = []
    for name in inner_fields(type(node)):
        value = getattr(node, name, None)
        found += value if isinstance(value, list) else [value]
    return [one for one in found if isinstance(one, ast.AST)]


@pytest.mark.parametrize("text", TEXTS)
def test_children_are_those_of_the_fields_in_their_order(text):
    for node in ast.walk(ast.parse(text)):
        assert children(node) == by_fields(node)


def test_every_kind_with_parts_of_its_own_is_in_a_text():
    seen = {type(node) for text in TEXTS for node in ast.walk(ast.parse(text))}
    assert {*_PARTS} <= seen


def test_a_node_without_a_place_gets_that_of_the_node_around_it():
    tree = ast.parse("if a:\n    b = 1\n").body[0]
    made = ast.Assign([ast.Name("c", ast.Store())], ast.Lambda(ast.arguments([], [ast.arg("d")])))
    tree.body.append(made)
    locate(tree)
    for node in (made, made.targets[0], made.value, made.value.args.args[0]):
        assert [getattr(node, name) for name in PLACE_FIELDS] == [1, 0, 2, 9]
    assert tree.body[0].lineno == 2
