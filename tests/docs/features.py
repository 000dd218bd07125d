"""The features that tests show to work, read from their marks: the table of docs/models.md.

A test says what it shows: `@pytest.mark.feature("layers", "nn.LSTM")`, with several names where it
shows several, and `refused="ST204"` where what it shows is a refusal. The marks are read from the
text of the tests, so that the table is made without running them; the tests run by themselves.
"""

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.docs.documents import ROOT

TESTS = ROOT / "tests"


@dataclass(frozen=True)
class Feature:
    """One line of the table."""

    group: str
    name: str
    test: str
    refused: str | None


@functools.cache
def features() -> list[Feature]:
    """Every marked feature, by group, in the order of the files."""
    found = [one for file in sorted(TESTS.rglob("test_*.py")) for one in _features_of(file)]
    return sorted(found, key=lambda one: one.group)


def _features_of(file: Path) -> Iterator[Feature]:
    for function in ast.walk(ast.parse(file.read_text())):
        if not isinstance(function, ast.FunctionDef):
            continue
        for mark in function.decorator_list:
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.feature":
                group, *names = (ast.literal_eval(arg) for arg in mark.args)
                options = {one.arg: ast.literal_eval(one.value) for one in mark.keywords}
                for name in names:
                    where = f"{file.relative_to(ROOT).as_posix()}::{function.name}"
                    yield Feature(group, name, where, options.get("refused"))


def table() -> str:
    """The table, as Markdown: a section for each group."""
    known = features()
    sections = [_section(group, known) for group in dict.fromkeys(one.group for one in known)]
    return "\n\n".join(sections)


def _section(group: str, known: list[Feature]) -> str:
    lines = [f"### {group[0].upper()}{group[1:]}", "", "| feature | as in eager | test |",
             "|---|---|---|"]  # fmt: skip
    for one in known:
        if one.group == group:
            holds = "yes" if one.refused is None else f"refused, {one.refused}"
            file, _, test = one.test.partition("::")
            lines.append(f"| {one.name} | {holds} | [{test}](../{file}) |")
    return "\n".join(lines)
