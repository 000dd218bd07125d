"""What docs/static.md says is so: its Python is run, and prints what is there."""

import re

import pytest

from stator import static
from tests.docs.documents import ROOT

DOCUMENT = (ROOT / "docs" / "static.md").read_text()


@pytest.mark.parametrize("name", static.__all__)
def test_every_public_name_is_in_the_document(name):
    assert re.search(rf"\b{name}\b", DOCUMENT)


@pytest.mark.parametrize("name", static.__all__)
def test_every_public_name_says_what_it_is(name):
    assert getattr(static, name).__doc__


def test_every_link_leads_to_a_file():
    for link in re.findall(r"\]\((?!http)([^)#]+)", DOCUMENT):
        assert (ROOT / "docs" / link).exists(), link
