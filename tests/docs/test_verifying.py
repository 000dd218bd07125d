"""docs/verifying.md is what its makers make; its own examples run."""

import re

import pytest

from tests.docs.documents import fenced_blocks, made_blocks
from tests.docs.regenerate import VERIFYING
from tests.docs.verifying import MAKERS

DOCUMENT = VERIFYING.read_text()
MADE = set(made_blocks(DOCUMENT).values())
EXAMPLES = [
    text for language, text in fenced_blocks(DOCUMENT)
    if language == "python" and text.rstrip("\n") not in MADE
]  # fmt: skip


SLOW = ("right", "wrong", "pytest")


def comparable(text: str) -> str:
    """Without counts of inputs: hypothesis also draws constants of the modules that are loaded."""
    return re.sub(r"\d+", "0", text)


def test_every_maker_has_its_block():
    assert made_blocks(DOCUMENT).keys() == MAKERS.keys()


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in MAKERS],
)
def test_a_block_is_what_its_maker_makes(name):
    text = made_blocks(DOCUMENT)[name]
    assert comparable(text) == comparable(MAKERS[name]()), (
        "if the change is meant: python -m tests.docs.regenerate"
    )


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_runs(text, tmp_path):
    file = tmp_path / "example.py"
    file.write_text(text)
    exec(compile(text, str(file), "exec"), {"__name__": "example"})


def test_there_are_examples():
    assert len(EXAMPLES) >= 2
