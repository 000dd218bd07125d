"""Writes the generated parts of docs/ again: `python -m tests.docs.regenerate`."""

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


def main() -> None:
    """Write each document that has changed."""
    write(ARCHITECTURE, with_blocks(ARCHITECTURE.read_text(), MAKERS))
    write_unless_comparable(CLI, cli.MAKERS, cli.comparable)
    with_made = with_blocks(DEBUGGING.read_text(), debugging.MAKERS)
    write(DEBUGGING, with_tables(with_made, debugging.TABLES))
    write(FORMAT, with_tables(FORMAT.read_text(), {"ops": op_table.table}))
    write(MODELS, with_tables(MODELS.read_text(), TABLES))
    write(ONNX, with_tables(ONNX.read_text(), {"onnx-refused": onnx_refused.table}))
    write(REFUSALS, refusals.page())
    write(texts.MESSAGES, texts.messages())
    write(SYNTAX, syntax.page())
    write(CHINESE_SYNTAX, with_tables(CHINESE_SYNTAX.read_text(), {"constructs": chinese.table}))
    write(VERIFYING, with_blocks(VERIFYING.read_text(), verifying.MAKERS))
    for name, text in error_pages.pages().items():
        write(error_pages.FOLDER / name, text)


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
