"""HTML for notebooks: text as it is, text to unfold, and a whole page in a frame.

Nothing of a program is put into the HTML unescaped: names and constants may come from a file.
"""

from __future__ import annotations

import html

FRAME_HEIGHT = 600


def preformatted(text: str) -> str:
    """`text` as it is printed."""
    return f'<pre style="line-height: 1.3; white-space: pre">{html.escape(text)}</pre>'


def unfolding(summary: str, text: str) -> str:
    """One line, which unfolds to `text`."""
    return f"<details><summary>{html.escape(summary)}</summary>{preformatted(text)}</details>"


def framed(page: str) -> str:
    """A whole page, in a frame of its own that can neither reach nor restyle the notebook."""
    return (
        f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts allow-downloads" '
        f'style="width: 100%; height: {FRAME_HEIGHT}px; border: 1px solid #8884"></iframe>'
    )
