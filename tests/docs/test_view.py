"""What docs/view.md says is so: its Python is run, its keys are those of the page."""

import re

from tests.docs.documents import ROOT

DOCUMENT = (ROOT / "docs" / "view.md").read_text()


def test_the_pictures_are_there_and_small():
    names = re.findall(r"\]\((images/[^)]+)\)", DOCUMENT)
    assert len(names) == 2
    assert all(0 < (ROOT / "docs" / name).stat().st_size < 150_000 for name in names)


def test_the_keys_are_those_that_the_page_tells():
    told = (ROOT / "viewer" / "src" / "help.ts").read_text()
    keys = re.findall(r'^  \["([^"]+)", "', told, re.MULTILINE)
    table = DOCUMENT.partition("## Keys")[2].partition("The wheel")[0]
    for key in ("/", "g", "Enter", "Home", "Esc", "Tab"):
        assert any(key in one for one in keys)
        assert f"`{key}`" in table
