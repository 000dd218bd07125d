"""Writes the generated parts of docs/ again: `python -m tests.docs.regenerate [NAME ...]`."""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.docs import (
    chinese,
    cli,
    debugging,
    error_pages,
    onnx_refused,
    op_table,
    refusals,
    syntax,
    texts,
    verifying,
)
from tests.docs.documents import ROOT, Makers, made_blocks, with_blocks, with_tables
from tests.docs.features import table
from tests.docs.stages import MAKERS

ARCHITECTURE = ROOT / "docs" / "architecture.md"
CLI = ROOT / "docs" / "cli.md"
DEBUGGING = ROOT / "docs" / "debugging.md"
FORMAT = ROOT / "docs" / "format.md"
MODELS = ROOT / "docs" / "models.md"
ONNX = ROOT / "docs" / "onnx.md"
REFUSALS = ROOT / "docs" / "refusals.md"
SYNTAX = ROOT / "docs" / "syntax.md"
CHINESE_SYNTAX = ROOT / "docs" / "zh" / "syntax.md"
VERIFYING = ROOT / "docs" / "verifying.md"
TABLES = {"features": table}


def blocks_of(document: Path, makers: Makers) -> None:
    """Write the blocks of `document`."""
    write(document, with_blocks(document.read_text(), makers))


def tables_of(document: Path, makers: Makers) -> None:
    """Write the tables of `document`."""
    write(document, with_tables(document.read_text(), makers))


def debugging_page() -> None:
    """Write the page, which has both."""
    with_made = with_blocks(DEBUGGING.read_text(), debugging.MAKERS)
    write(DEBUGGING, with_tables(with_made, debugging.TABLES))


def error_documents() -> None:
    """Write a page for each code."""
    for name, text in error_pages.pages().items():
        write(error_pages.FOLDER / name, text)


WRITERS: dict[str, Callable[[], None]] = {
    "architecture": partial(blocks_of, ARCHITECTURE, MAKERS),
    "cli": lambda: write_unless_comparable(CLI, cli.MAKERS, cli.comparable),
    "debugging": debugging_page,
    "format": partial(tables_of, FORMAT, {"ops": op_table.table}),
    "models": partial(tables_of, MODELS, TABLES),
    "onnx": partial(tables_of, ONNX, {"onnx-refused": onnx_refused.table}),
    "refusals": lambda: write(REFUSALS, refusals.page()),
    "messages": lambda: write(texts.MESSAGES, texts.messages()),
    "syntax": lambda: write(SYNTAX, syntax.page()),
    "zh-syntax": partial(tables_of, CHINESE_SYNTAX, {"constructs": chinese.table}),
    "verifying": partial(blocks_of, VERIFYING, verifying.MAKERS),
    "errors": error_documents,
}


def main() -> None:
    """Write each document that has changed, of those that are named, or of all."""
    parser = argparse.ArgumentParser(prog="python -m tests.docs.regenerate")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(WRITERS)}")
    names = parser.parse_args().names
    if unknown := sorted(set(names) - WRITERS.keys()):
        parser.error(f"there is no {unknown[0]}; there are {', '.join(WRITERS)}")
    for name in names or WRITERS:
        WRITERS[name]()


def write_unless_comparable(
    document: Path, makers: Makers, comparable: Callable[[str, str], str]
) -> None:
    """Write the blocks that have changed in more than times and the like."""
    before = document.read_text()
    blocks = made_blocks(before)

    def kept(name: str) -> str:
        made = makers[name]()
        same = comparable(name, made) == comparable(name, blocks[name])
        return blocks[name] if same else made

    write(document, with_blocks(before, {name: partial(kept, name) for name in makers}))


def write(document: Path, after: str) -> None:
    """Write `after` if it is not there yet, and say so."""
    before = document.read_text() if document.exists() else ""
    if after != before:
        document.write_text(after)
    print(f"{document.relative_to(ROOT)}: {'written' if after != before else 'no change'}")


if __name__ == "__main__":
    main()
