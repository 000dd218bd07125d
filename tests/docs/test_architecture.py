"""docs/architecture.md shows what the stages really make: each block is made here and compared."""

import re

import pytest

from tests.docs.documents import ROOT, made_blocks
from tests.docs.regenerate import ARCHITECTURE
from tests.docs.stages import MAKERS

DOCUMENT = ARCHITECTURE.read_text()


@pytest.mark.parametrize("name", MAKERS)
def test_a_block_is_what_its_stage_makes(name):
    assert made_blocks(DOCUMENT)[name] == MAKERS[name](), (
        "if the change is meant: python -m tests.docs.regenerate"
    )


def test_every_block_of_the_document_has_a_maker():
    assert made_blocks(DOCUMENT).keys() == MAKERS.keys()


def test_the_document_names_no_path_of_this_machine():
    assert str(ROOT) not in DOCUMENT
    assert not any(f" /{folder}/" in DOCUMENT for folder in ("home", "tmp", "work", "root"))


def test_the_folders_in_the_document_are_those_of_the_package():
    described = DOCUMENT.split("## The folders", 1)[1].split("\n## ", 1)[0]
    package = ROOT / "src" / "stator"
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    assert {folder for folder in folders if f"| `{folder}/` |" not in described} == set()


def test_the_walk_has_one_branch_for_the_break_and_at_most_25_concepts():
    text = DOCUMENT
    walk = text[text.index("## A `while` with a `break`") : text.index("## The whole story of")]
    assert 20 <= len(set(re.findall(r"\*\*([a-z ]+)\*\*", walk))) <= 25
    assert MAKERS["walk"]().count("stator::if") == 1
