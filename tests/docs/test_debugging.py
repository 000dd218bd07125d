"""docs/debugging.md is what its makers make; each mistake has a message, its mending none."""

import pytest

from tests.docs.debugging import MAKERS, TABLES, message_of
from tests.docs.documents import made_blocks, made_tables
from tests.docs.mistakes import MISTAKES
from tests.docs.regenerate import DEBUGGING

DOCUMENT = DEBUGGING.read_text()


def test_every_maker_has_its_block():
    assert made_blocks(DOCUMENT).keys() == MAKERS.keys()
    assert made_tables(DOCUMENT).keys() == TABLES.keys()


@pytest.mark.parametrize("name", MAKERS)
def test_a_block_is_what_its_maker_makes(name):
    text = made_blocks(DOCUMENT)[name]
    assert text == MAKERS[name](), "if the change is meant: python -m tests.docs.regenerate"


def test_the_mistakes_are_what_their_code_says():
    assert made_tables(DOCUMENT)["mistakes"] == TABLES["mistakes"]().rstrip("\n")


@pytest.mark.parametrize("one", MISTAKES, ids=[one.title for one in MISTAKES])
def test_a_mistake_has_a_message_with_its_line_and_its_mending_has_none(one):
    message = message_of(one.wrong)
    assert "model.py:" in message or message.startswith("UserWarning: ")
    assert message_of(one.right) == ""


def test_there_are_twelve():
    assert len(MISTAKES) == 12
