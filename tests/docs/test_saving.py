"""What docs/saving.md says is so: its Python is run, and prints what is said."""

import itertools
import runpy

import pytest

from tests.docs.documents import ROOT, fenced_blocks

DOCUMENT = (ROOT / "docs" / "saving.md").read_text()


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
    assert languages == ["python", "text"] * (len(languages) // 2)
    assert len(languages) >= 14
