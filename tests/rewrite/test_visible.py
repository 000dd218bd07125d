"""Every piece of a rewritten function sees all the names of the user's around it."""

import ast

import pytest

from stator.rewrite.visible import MOST, visible_names


def declared(text, piece):
    """The names that `piece` declares, as the first thing it does."""
    (tree,) = ast.parse(text).body
    before = ast.dump(tree)
    with visible_names(tree):
        compile(ast.fix_missing_locations(wrapped(tree)), "f.py", "exec")
        found = next(n for n in ast.walk(tree) if getattr(n, "name", "") == piece)
        names = found.body[0].names
    assert ast.dump(tree) == before
    return names


def wrapped(tree):
    module = ast.parse("def outer(stator__): pass")
    module.body[0].body = [tree]
    return module


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("pass", ["a", "b", "stator__"]),
        ("nonlocal b; b = 1", ["a", "stator__"]),  # it has declared that one
        ("b = 1", ["a", "stator__"]),  # its own
        ("global b; b = 1", ["a", "stator__"]),
    ],
)
def test_a_piece_declares_what_is_not_its_own(body, names):
    text = f"def f(a):\n    b = a\n    def body_1__():\n        {body}\n    return b\n"
    assert declared(text, "body_1__") == names


def test_a_piece_of_a_piece_sees_the_names_of_both():
    text = (
        "def f(a):\n    def comp_1__(iter__):\n        k = 1\n"
        "        def body_2__():\n            return k\n        return body_2__\n"
    )
    assert declared(text, "body_2__") == ["a", "k", "stator__"]


@pytest.mark.parametrize("name", ["read_1__", "write_1__", "inner"])
def test_other_functions_are_left_as_they_are(name):
    (tree,) = ast.parse(f"def f(a):\n    def {name}():\n        return a\n").body
    before = ast.dump(tree)
    with visible_names(tree):
        assert ast.dump(tree) == before


def test_a_function_with_many_pieces_and_names_goes_without():
    def text(names):
        bound = "".join(f"    n{k} = a\n" for k in range(names))
        piece = "    def body_{0}__():\n        return a\n"
        return f"def f(a):\n{bound}" + "".join(piece.format(k) for k in range(20))

    assert len(declared(text(MOST // 20 - 1), "body_1__")) == MOST // 20 + 1
    (tree,) = ast.parse(text(MOST // 20)).body
    before = ast.dump(tree)
    with visible_names(tree):
        assert ast.dump(tree) == before
