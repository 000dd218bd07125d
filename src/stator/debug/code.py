"""Code: Python source that is coloured where a terminal shows it."""

from __future__ import annotations

import io
import os
import sys

try:
    from rich.console import Console
    from rich.syntax import Syntax
except ImportError:  # an extra: without it the text is plain
    Console = None  # type: ignore[assignment,misc]


class Code(str):
    """Source text; printed to a terminal it has colours, anywhere else it is plain.

    >>> print(Code("x = 1"))
    x = 1
    >>> Code("x = 1")
    x = 1
    """

    __slots__ = ()

    def __str__(self) -> str:
        plain = "".join(self)
        if Console is None or not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
            return plain
        return coloured(plain, "python")

    __repr__ = __str__


def coloured(text: str, language: str) -> str:
    """`text` with the colour codes of a terminal; every line stays the line it is."""
    out = io.StringIO()
    width = max((len(line) for line in text.splitlines()), default=1)
    console = Console(file=out, force_terminal=True, color_system="256", width=width + 1)
    # the terminal's own colours: they can be read on a dark ground and on a light one
    console.print(Syntax(text, language, theme="ansi_dark", background_color="default"))
    lines = out.getvalue().rstrip("\n").split("\n")
    return "\n".join(line.rstrip() for line in lines)
