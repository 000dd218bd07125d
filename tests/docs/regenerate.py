"""Makes the blocks of docs/architecture.md anew: `python -m tests.docs.regenerate`."""

from tests.docs.documents import ROOT, with_blocks
from tests.docs.stages import MAKERS

ARCHITECTURE = ROOT / "docs" / "architecture.md"


def main() -> None:
    """Write the document if any block has changed."""
    before = ARCHITECTURE.read_text()
    after = with_blocks(before, MAKERS)
    if after != before:
        ARCHITECTURE.write_text(after)
    print(f"{ARCHITECTURE.relative_to(ROOT)}: {'written' if after != before else 'no change'}")


if __name__ == "__main__":
    main()
