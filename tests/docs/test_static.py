"""What docs/static.md says is so: its Python is run, and prints what stands there."""

import itertools
import re
import runpy

import pytest

from stator import static
from tests.docs.documents import ROOT, fenced_blocks

DOCUMENT = (ROOT / "docs" / "static.md").read_text()


def examples() -> list[tuple[str, str]]:
    """Each Python block, and what it prints: the text block right after it."""
    blocks = fenced_blocks(DOCUMENT)
    return [
        (text, printed)
        for (language, text), (_, printed) in itertools.pairwise(blocks)
        if language == "python"
    ]


@pytest.mark.parametrize(("text", "printed"), examples())
def test_an_example_runs_and_prints_what_is_said(text, printed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "example.py"
    file.write_text(text)
    runpy.run_path(str(file))
    assert capsys.readouterr().out == printed


def test_every_python_block_says_what_it_prints():
    languages = [language for language, _ in fenced_blocks(DOCUMENT)]
    assert len(languages) >= 12
    assert languages == ["python", "text"] * (len(languages) // 2)


@pytest.mark.parametrize("name", static.__all__)
def test_every_public_name_is_in_the_document(name):
    assert re.search(rf"\b{name}\b", DOCUMENT)


@pytest.mark.parametrize("name", static.__all__)
def test_every_public_name_says_what_it_is(name):
    assert getattr(static, name).__doc__


def test_every_link_leads_to_a_file():
    for link in re.findall(r"\]\((?!http)([^)#]+)", DOCUMENT):
        assert (ROOT / "docs" / link).exists(), link
