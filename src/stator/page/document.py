"""page_text() and write_page(): one HTML page that needs nothing else, as text or as a file.

The page holds data, a script and a style. What comes from a program
(names, source lines, constants) is only data: it is in a JSON block in which `<` is escaped,
and the script puts it into the page as text. A content security policy lets nothing run or load but
the two.
"""

from __future__ import annotations

import base64
import hashlib
import html
import importlib.metadata
import importlib.resources
import json
import os
import re
from pathlib import Path
from typing import Any

from stator.page.encoding import bytes_of, program_data
from stator.page.sources import FileTable
from stator.page.subject import PageSubject, Weight

DOCUMENT = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>This page shows a program of Stator, and needs JavaScript for it.</noscript>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def write_page(subject: PageSubject, path: str | os.PathLike[str] | None) -> Path:
    """Write the page to `path`, or to NAME.view.html in the working folder; gives the path."""
    target = Path(path if path is not None else _file_name(subject.title))
    target.write_text(page_text(subject), encoding="utf-8")
    return target


def page_data(subject: PageSubject) -> dict[str, Any]:
    """What the page's script reads."""
    files = FileTable(at_hand=not subject.is_saved, embedded=subject.sources)
    entry = subject.entry
    first = [files.want(*entry), entry[1]] if entry is not None else None
    programs = [
        program_data(one.program, one.label, files, subject.argument_names)
        for one in subject.programs
    ]
    for capture in subject.report["captures"] if subject.report is not None else ():
        for line in capture["lines"]:
            files.want(line["file"], line["line"])
    return {
        "title": subject.title,
        "version": _version(),
        "remarks": list(subject.remarks),
        "start": subject.start,
        "entry": first,
        "programs": programs,
        "weights": [_weight_data(one) for one in subject.weights],
        "report": subject.report,
        "files": files.data(),
    }


def _weight_data(weight: Weight) -> dict[str, Any]:
    return {
        "name": weight.name, "kind": weight.kind, "type": str(weight.type),
        "bytes": bytes_of(weight.type), "tied": weight.tied,
    }  # fmt: skip


def page_text(subject: PageSubject) -> str:
    """The page of `subject`."""
    assets = importlib.resources.files("stator.page") / "assets"
    script = (assets / "viewer.js").read_text(encoding="utf-8")
    style = (assets / "viewer.css").read_text(encoding="utf-8")
    return DOCUMENT.format(
        policy=_policy(script, style),
        title=html.escape(f"{subject.title} · Stator"),
        style=style,
        script=script,
        data=_embedded(page_data(subject)),
    )


def _embedded(data: Any) -> str:
    """JSON that no HTML parser can see an end of: `</script>` and `<!--` need a `<`."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _policy(script: str, style: str) -> str:
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _file_name(title: str) -> str:
    return (re.sub(r"[^\w-]+", "_", title).strip("_") or "program")[:100] + ".view.html"


def _version() -> str:
    try:
        return importlib.metadata.version("stator")
    except importlib.metadata.PackageNotFoundError:  # run from a checkout
        return ""
