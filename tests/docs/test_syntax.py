"""docs/syntax.md is what the zoo makes, and has a place for every program of it."""

import pytest

from tests.docs import syntax
from tests.docs.constructs import GROUPS
from tests.docs.regenerate import SYNTAX
from tests.zoo.whole import PROGRAMS

CONSTRUCTS = [construct for constructs in GROUPS.values() for construct in constructs]


def section(title):
    return SYNTAX.read_text().split(f"\n### {title}\n")[1].split("\n### ")[0].split("\n## ")[0]


@pytest.mark.slow
def test_the_page_is_what_the_zoo_makes():
    assert SYNTAX.read_text() == syntax.page(), (
        "if the change is meant: python -m tests.docs.regenerate"
    )


def test_every_program_of_the_zoo_is_a_use_of_some_construct():
    placed = {one.name for construct in CONSTRUCTS for one in syntax.programs_with(construct)}
    assert [one.name for one in PROGRAMS if one.name not in placed] == []


@pytest.mark.parametrize("construct", CONSTRUCTS, ids=lambda one: one.title)
def test_a_construct_has_an_example_that_uses_it(construct):
    example = syntax.example_of(construct)
    assert example is not None
    assert example in syntax.programs_with(construct)
    assert syntax.text_of(example) in section(construct.title)


def test_titles_and_anchors_are_given_once():
    anchors = [syntax.anchor(construct.title) for construct in CONSTRUCTS]
    assert len(anchors) == len(set(anchors))


def test_what_is_pending_is_said_under_the_rarest_construct_that_it_uses():
    said = {one.name for construct in CONSTRUCTS for one in syntax.limits_of(construct)}
    said |= {one.name for one in syntax.other_limits()}
    assert said == {one.name for one in PROGRAMS if not syntax.is_right(one)}
    for construct in CONSTRUCTS:
        for program in syntax.limits_of(construct):
            assert f"`{program.name}`" in section(construct.title)
    for program in syntax.other_limits():
        assert f"`{program.name}`" in SYNTAX.read_text().split("\n## Other limits\n")[1]


def test_a_reader_who_looks_up_while_else_finds_it_supported_with_an_example():
    text = section("`while … else`")
    assert "Supported" in text
    assert "while " in text.split("```python")[1]
    assert "\n    else:" in text.split("```python")[1]
