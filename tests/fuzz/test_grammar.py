"""Every line of the grammar makes Python, and one seed is one program."""

from __future__ import annotations

import ast
import random
import re

from tests.fuzz import grammar, statements
from tests.fuzz.writer import BLOCKS, HOLE, KIND_OF, Writer, random_text, templates

STATEMENTS = [*templates(statements.SIMPLE), *templates(statements.COMPOUND)]
EXPRESSIONS = [(kind, text) for kind, texts in grammar.EXPRESSIONS.items() for text in texts]


def mostly_parses(make, template):
    """Not always: a walrus may be drawn where Python allows none."""
    texts = [make(Writer(random.Random(seed)), template) for seed in range(20)]
    return sum(map(parses, texts)) > 12


def parses(text):
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def test_statements_are_python_whatever_is_drawn():
    def make(writer, template):
        writer.simple, writer.compound = ["{n} = {N}"], [template]
        lines = writer.expanded(template, depth=3, loop=True)
        return "def f():\n while x:\n" + "\n".join("  " + line for line in lines)

    assert [one for one in STATEMENTS if not mostly_parses(make, one)] == []


def test_expressions_are_python_whatever_is_drawn():
    def make(writer, template):
        return writer.fill(template, 1)

    assert [one for one in EXPRESSIONS if not mostly_parses(make, one[1])] == []


def test_every_hole_has_something_to_fill_it():
    texts = [*STATEMENTS, *(text for _, text in EXPRESSIONS)]
    kinds = {match["kind"] for text in texts for match in HOLE.finditer(text)} - {None}
    known = {*grammar.EXPRESSIONS, *grammar.NAMES, *BLOCKS, "SIMPLE", "f", "i"}
    assert kinds - known == set()


def test_every_name_can_be_bound_at_the_start():
    assert {kind for kind in KIND_OF.values() if kind not in grammar.FIRST} == {"u"}


def test_one_seed_is_one_program():
    texts = {random_text(random.Random(7)) for _ in range(3)}
    assert len(texts) == 1
    assert len({random_text(random.Random(seed)) for seed in range(50)}) == 50


def test_the_programs_use_the_whole_language():
    wanted = """If While For Break Continue Return Try Raise Assert Match With Delete Nonlocal
        Global FunctionDef Lambda NamedExpr BoolOp Compare IfExp JoinedStr ListComp DictComp
        GeneratorExp Starred Yield AugAssign Subscript Slice Attribute Dict List Tuple"""
    missing = {*wanted.split(), "else"}
    for seed in range(1500):
        text = random_text(random.Random(seed))
        missing -= {type(node).__name__ for node in ast.walk(ast.parse(text))}
        missing -= {"else"} if re.search(r"\n +else:\n", text) else set()
        if not missing:
            break
    assert missing == set()
