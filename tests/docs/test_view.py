"""What docs/view.md says is so: its Python is run, its keys are those of the page."""

import itertools
import re
import runpy

import pytest

from tests.docs.documents import ROOT, fenced_blocks

DOCUMENT = (ROOT / "docs" / "view.md").read_text()


def examples() -> list[tuple[str, str]]:
    """Each Python block, and the text block right after it: what it prints."""
    blocks = fenced_blocks(DOCUMENT)
    return [
        (text, after)
        for (language, text), (_, after) in itertools.pairwise(blocks)
        if language == "python"
    ]


@pytest.mark.parametrize(("text", "printed"), examples())
def test_an_example_runs_and_prints_what_is_said(text, printed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "example.py"
    file.write_text(text)
    runpy.run_path(str(file))
    assert capsys.readouterr().out == printed


def test_every_example_says_what_it_prints():
    languages = [language for language, _ in fenced_blocks(DOCUMENT)]
    assert languages == ["python", "text"] * 2


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
