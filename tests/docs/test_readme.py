"""What the README says is so: its Python is run, its outputs and its limits are checked."""

import itertools
import re
import runpy

import pytest

from stator import StatorError
from tests.docs.documents import ROOT, fenced_blocks
from tests.docs.limits import LIMITS

README = (ROOT / "README.md").read_text()


def examples() -> list[tuple[str, str | None]]:
    """Each Python block, and the text block right after it: what it prints."""
    blocks = [*fenced_blocks(README), ("", "")]
    return [
        (text, after if language_after == "text" else None)
        for (language, text), (language_after, after) in itertools.pairwise(blocks)
        if language == "python"
    ]


@pytest.mark.parametrize(("text", "printed"), examples())
def test_an_example_runs_and_prints_what_is_said(text, printed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "example.py"
    file.write_text(text)
    runpy.run_path(str(file))
    if printed is not None:
        assert capsys.readouterr().out == printed


def test_there_are_examples():
    assert len(examples()) >= 2


@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_is_refused_with_its_code(limit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, attempt = LIMITS[limit]
    with pytest.raises(StatorError) as refusal:
        attempt()
    assert refusal.value.code == code


def test_the_limits_in_the_readme_are_those_that_are_tried():
    section = README.split("## Limits today", 1)[1].split("\n## ", 1)[0]
    listed = [line.removeprefix("- ") for line in section.splitlines() if line.startswith("- ")]
    assert listed == [f"{limit} ({code})" for limit, (code, _) in LIMITS.items()]


def test_every_link_leads_to_a_file():
    for document in (ROOT / "README.md", ROOT / "docs" / "architecture.md"):
        for link in re.findall(r"\]\((?!http)([^)#]+)", document.read_text()):
            assert (document.parent / link).exists(), f"{document.name}: {link}"


def test_every_make_target_named_is_there():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"`make (\w+)", README)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
