"""Documents whose blocks are made by code: read, compared and written between markers.

<!-- made: NAME -->
```text
what the maker of NAME gave
```
<!-- end -->

A table is Markdown itself, so it is without a fence:

<!-- table: NAME -->
what the maker of NAME gave
<!-- end -->
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUNS_IN = "runs in: native (the default)"  # where native is built; so the documents say
MADE = re.compile(
    r"<!-- made: (?P<name>[\w-]+) -->\n```(?P<language>\w+)\n(?P<text>.*?)\n```\n<!-- end -->",
    re.DOTALL,
)
TABLE = re.compile(r"<!-- table: (?P<name>[\w-]+) -->\n(?P<text>.*?)<!-- end -->", re.DOTALL)
FENCED = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)

Makers = Mapping[str, Callable[[], str]]


def made_blocks(document: str) -> dict[str, str]:
    """The texts between the markers of `document`, by name."""
    found = [(match["name"], match["text"]) for match in MADE.finditer(document)]
    names = [name for name, _ in found]
    assert len(names) == len(set(names)), f"a block is twice: {names}"
    return dict(found)


def with_blocks(document: str, makers: Makers) -> str:
    """`document` with every block regenerated."""

    def block(match: re.Match[str]) -> str:
        name, language = match["name"], match["language"]
        return f"<!-- made: {name} -->\n```{language}\n{makers[name]()}\n```\n<!-- end -->"

    return MADE.sub(block, document)


def made_tables(document: str) -> dict[str, str]:
    """The tables between the markers of `document`, by name."""
    return {match["name"]: match["text"].rstrip("\n") for match in TABLE.finditer(document)}


def with_tables(document: str, makers: Makers) -> str:
    """`document` with every table regenerated."""

    def table(match: re.Match[str]) -> str:
        return f"<!-- table: {match['name']} -->\n{makers[match['name']]()}\n<!-- end -->"

    return TABLE.sub(table, document)


def fenced_blocks(document: str) -> list[tuple[str, str]]:
    """(language, text) of every fenced block, in order."""
    return [(match["language"], match["text"]) for match in FENCED.finditer(document)]
