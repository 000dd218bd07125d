"""The documentation site: its snippets run, its generated table is current, it builds strictly."""

import itertools
import json
import subprocess

import pytest

import stator
from scripts import versions
from tests.docs import chinese
from tests.docs.documents import ROOT, fenced_blocks, made_tables
from tests.docs.pages import ScriptRunner

DOCS = ROOT / "docs"
FOLDERS = ("tutorials", "how-to", "migration", "zh")
PAGES = [DOCS / "index.md", DOCS / "start.md"]
PAGES += sorted(page for folder in FOLDERS for page in (DOCS / folder).glob("*.md"))
WITH_CODE = [page for page in PAGES if "```python\n" in page.read_text()]
MARK = "---- the end of block"


def named(pages):
    return [pytest.param(page, id=str(page.relative_to(DOCS))) for page in pages]


@pytest.fixture(scope="module")
def runner():
    with ScriptRunner() as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("page", named(WITH_CODE))
def test_the_blocks_of_a_page_run_in_order_and_print_what_is_said(page, runner, tmp_path):
    blocks = [*fenced_blocks(page.read_text()), ("", "")]
    code = [text for language, text in blocks if language == "python"]
    said = [
        after if language_after == "text" else ""
        for (language, _), (language_after, after) in itertools.pairwise(blocks)
        if language == "python"
    ]
    file = tmp_path / "page.py"
    file.write_text(f'print("{MARK}")\n'.join([*code, ""]))
    finished = runner.run(file, tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.split(f"{MARK}\n")[:-1] == said


def test_every_tutorial_and_migration_has_code():
    without = {str(page.relative_to(DOCS)) for page in PAGES if page not in WITH_CODE}
    assert without == {"migration/index.md", "zh/syntax.md"}


@pytest.mark.parametrize("page", named(PAGES))
def test_code_of_other_frameworks_is_python(page):
    for language, text in fenced_blocks(page.read_text()):
        if language == "py":
            compile(text, page.name, "exec")


@pytest.mark.slow
def test_the_chinese_table_is_made_from_the_constructs():
    page = (DOCS / "zh" / "syntax.md").read_text()
    assert made_tables(page) == {"constructs": chinese.table().rstrip("\n")}, (
        "if the change is meant: python -m tests.docs.regenerate"
    )


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    finished = subprocess.run(
        [ROOT / "scripts" / "docs", str(tmp_path / "site")],
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr
    (entry,) = json.loads((tmp_path / "site" / "versions.json").read_text())
    site = tmp_path / "site" / entry["version"]
    assert stator.__version__.startswith(entry["version"])
    assert f"url={entry['version']}/" in (tmp_path / "site" / "index.html").read_text()
    assert (site / "index.html").exists()
    assert "to_static" in (site / "reference" / "api.html").read_text()


def test_the_selector_has_every_version_newest_first(tmp_path):
    for name in ("0.2", "0.10", "assets"):
        (tmp_path / name).mkdir()
    versions.write_list(tmp_path)
    entries = json.loads((tmp_path / "versions.json").read_text())
    assert [(one["version"], one["aliases"]) for one in entries] == [
        ("0.10", ["latest"]),
        ("0.2", []),
    ]
    assert "url=0.10/" in (tmp_path / "index.html").read_text()
