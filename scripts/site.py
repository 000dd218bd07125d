"""A hook of the documentation site: links that lead out of docs/.

Pages are also read in the repository, so they link to files outside docs/ (`../tests/...`). The
site does not have those files: there, such a link becomes its text. A link to a file that does not
exist is an error.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(?<!!)\[(?P<label>[^\]]*)\]\((?P<target>[^)#\s]+)(?P<anchor>#[^)]*)?\)")
FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2 *$", re.DOTALL | re.MULTILINE)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page with its links out of docs/ as plain text."""
    folder = posixpath.dirname(page.file.src_uri)
    parts, end = [], 0
    for fence in FENCE.finditer(markdown):
        parts += [LINK.sub(_replacer(folder), markdown[end : fence.start()]), fence.group()]
        end = fence.end()
    parts.append(LINK.sub(_replacer(folder), markdown[end:]))
    return "".join(parts)


def _replacer(folder: str) -> Any:
    """What a link of a page in `folder` is replaced with."""

    def replace(match: re.Match[str]) -> str:
        target = match["target"]
        if re.match(r"[a-z]+:", target):
            return match.group()
        path = posixpath.normpath(posixpath.join("docs", folder, target))
        if not (ROOT / path).exists():
            raise PluginError(f"{folder}: a link to {target}, which does not exist")
        if path.startswith("docs/") and path.endswith((".md", ".png", ".svg")):
            return match.group()
        return match["label"]

    return replace
