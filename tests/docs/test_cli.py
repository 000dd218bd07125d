"""docs/cli.md is what its makers make."""

import os
import re

import pytest

from stator.cli import failures
from stator.cli.commands import main
from tests.docs.cli import MAKERS, comparable
from tests.docs.documents import made_blocks
from tests.docs.regenerate import CLI

DOCUMENT = CLI.read_text()


def test_every_maker_has_its_block():
    assert made_blocks(DOCUMENT).keys() == MAKERS.keys()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in ("bench", "fields") else ())
        for name in MAKERS
    ],
)
def test_a_block_is_what_its_maker_makes(name, monkeypatch):
    for setting in [one for one in os.environ if one.startswith("STATOR_")]:
        monkeypatch.delenv(setting)  # `doctor` shows them, and other tests set some
    text = made_blocks(DOCUMENT)[name]
    made = MAKERS[name]()
    assert comparable(name, text) == comparable(name, made), (
        "if the change is meant: python -m tests.docs.regenerate"
    )


def test_each_command_has_a_section():
    sections = set(re.findall(r"^## ([\w-]+)$", DOCUMENT, re.MULTILINE))
    assert {*main.commands} <= sections


def test_the_exit_codes_are_those_of_the_command():
    listed = [int(code) for code in re.findall(r"^\| (\d+) \|", DOCUMENT, re.MULTILINE)]
    names = ("OK", "FOUND", "WRONG_CALL", "REFUSED", "USER_CODE", "BUG", "INTERRUPTED")
    assert listed == [getattr(failures, name) for name in names]
