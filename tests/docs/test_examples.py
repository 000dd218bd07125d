"""The Python in these pages is run, and prints what is after it."""

import itertools
import runpy

import pytest

from tests.docs.documents import ROOT, fenced_blocks

PAGES = {"saving.md": 18, "static.md": 12, "view.md": 4}  # and the fewest blocks that each has


def blocks_of(page):
    return fenced_blocks((ROOT / "docs" / page).read_text())


EXAMPLES = [
    pytest.param(text, printed, id=f"{page}-{number}")
    for page in PAGES
    for number, ((language, text), (_, printed)) in enumerate(itertools.pairwise(blocks_of(page)))
    if language == "python"
]


@pytest.mark.parametrize(("text", "printed"), EXAMPLES)
def test_an_example_runs_and_prints_what_is_said(text, printed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "example.py"
    file.write_text(text)
    runpy.run_path(str(file))
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize("page", PAGES)
def test_every_example_says_what_it_prints(page):
    languages = [language for language, _ in blocks_of(page)]
    assert languages == ["python", "text"] * (len(languages) // 2)
    assert len(languages) >= PAGES[page]
