"""The README is checked: its Python and its commands are run, its limits and links are tried."""

import itertools
import re
import runpy
import shlex

import pytest
import torch
from click.testing import CliRunner

from stator import StatorError
from stator.cli.commands import main
from stator.cli.objects import fresh_imports
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


def commands() -> list[str]:
    """The lines that call `stator`, in order."""
    shell = "".join(text for language, text in fenced_blocks(README) if language == "sh")
    return [line for line in shell.splitlines() if line.startswith("stator ")]


@pytest.mark.slow
def test_the_commands_can_be_pasted_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    (tmp_path / "build").mkdir()
    lines = commands()
    assert len(lines) >= 6
    for line in lines:
        if line not in ("stator doctor", "stator build-native"):  # these depend on the machine
            run_successfully(line)
    assert (tmp_path / "build" / "decoder.html").exists()


def run_successfully(line):
    torch.manual_seed(0)
    with fresh_imports():
        result = CliRunner().invoke(main, shlex.split(line)[1:], prog_name="stator")
    assert result.exit_code == 0, f"{line}: {result.output}"


def test_the_decoder_of_the_readme_is_that_of_the_file():
    text = (ROOT / "docs" / "examples" / "decoder.py").read_text()
    loop = text.partition("        tokens = [token]\n")[2].replace("self.longest", "20")
    assert loop
    assert loop in README


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
    documents = ("README.md", "conformance/README.md", "CONTRIBUTING.md", "docs/architecture.md")
    for document in map(ROOT.joinpath, documents):
        for link in re.findall(r"\]\((?!http)([^)#]+)", document.read_text()):
            assert (document.parent / link).exists(), f"{document.name}: {link}"


def test_every_make_target_named_is_there():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"`make (\w+)", README)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
