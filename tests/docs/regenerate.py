"""Makes the generated parts of docs/ anew: `python -m tests.docs.regenerate`."""

from pathlib import Path

from tests.docs import debugging, error_pages, refusals, syntax, texts, verifying
from tests.docs.documents import ROOT, with_blocks, with_tables
from tests.docs.features import table
from tests.docs.stages import MAKERS

ARCHITECTURE = ROOT / "docs" / "architecture.md"
DEBUGGING = ROOT / "docs" / "debugging.md"
MODELS = ROOT / "docs" / "models.md"
REFUSALS = ROOT / "docs" / "refusals.md"
SYNTAX = ROOT / "docs" / "syntax.md"
VERIFYING = ROOT / "docs" / "verifying.md"
TABLES = {"features": table}


def main() -> None:
    """Write each document that has changed."""
    write(ARCHITECTURE, with_blocks(ARCHITECTURE.read_text(), MAKERS))
    with_made = with_blocks(DEBUGGING.read_text(), debugging.MAKERS)
    write(DEBUGGING, with_tables(with_made, debugging.TABLES))
    write(MODELS, with_tables(MODELS.read_text(), TABLES))
    write(REFUSALS, refusals.page())
    write(texts.MESSAGES, texts.messages())
    write(SYNTAX, syntax.page())
    write(VERIFYING, with_blocks(VERIFYING.read_text(), verifying.MAKERS))
    for name, text in error_pages.pages().items():
        write(error_pages.FOLDER / name, text)


def write(document: Path, after: str) -> None:
    """Write `after` if it is not there yet, and say so."""
    before = document.read_text() if document.exists() else ""
    if after != before:
        document.write_text(after)
    print(f"{document.relative_to(ROOT)}: {'written' if after != before else 'no change'}")


if __name__ == "__main__":
    main()
