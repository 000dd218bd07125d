"""page() and view(): one HTML page that needs nothing else, as text or as a file.

The page holds data, a script and a style. What comes from a program
(names, source lines, constants) is only data: it is in a JSON block in which `<` is escaped,
and the script puts it into the page as text. A content security policy lets nothing run or load but
the two.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import html
import importlib.metadata
import importlib.resources
import json
import os
import re
from pathlib import Path
from typing import Any

from stator.debug.report import Report
from stator.debug.view.encoding import program_data
from stator.debug.view.sources import FileTable
from stator.debug.view.subject import EmptyPage, PageSubject, subject_of
from stator.debug.view.weights import weight_rows
from stator.frames import user_facing
from stator.notebook import framed

EMPTY = EmptyPage()
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


class PagePath(type(Path())):  # type: ignore[misc] # `Path` itself has no subclasses before 3.12
    """The path of a page; a notebook shows the page."""

    def _repr_html_(self) -> str:
        return framed(self.read_text(encoding="utf-8"))


@user_facing
def view(source: Any = EMPTY, path: str | os.PathLike[str] | None = None) -> Path:
    """Write the page of `source` to `path`, and give the path, which a notebook shows as the page.

    `source` is a static function that has been called, a static module, a program, a loaded model,
    or the path of a saved one. Without it the page is empty: its reader opens saved models in it.
    Without `path` the file is NAME.view.html in the working folder.
    """
    subject = subject_of(source)
    target = PagePath(path if path is not None else _file_name(subject.title))
    target.write_text(_page(subject), encoding="utf-8")
    return target


@user_facing
def page(source: Any, *, report: Report | None = None, title: str | None = None) -> str:
    """The page of `source` as text; `report` replaces the report that a function has itself."""
    subject = subject_of(source)
    return _page(
        dataclasses.replace(
            subject,
            report=report if report is not None else subject.report,
            title=title if title is not None else subject.title,
        )
    )


def page_data(subject: PageSubject) -> dict[str, Any]:
    """What the page's script reads."""
    files = FileTable(at_hand=not subject.is_saved, embedded=subject.sources)
    entry = subject.entry
    first = [files.want(*entry), entry[1]] if entry is not None else None
    programs = [program_data(one.program, one.label, files) for one in subject.programs]
    for capture in subject.report.captures if subject.report is not None else ():
        for line in capture.lines:
            files.want(line.file, line.line)
    return {
        "title": subject.title,
        "version": _version(),
        "remarks": list(subject.remarks),
        "start": subject.start,
        "entry": first,
        "programs": programs,
        "weights": weight_rows(subject.tensors, subject.kinds),
        "report": subject.report.to_dict() if subject.report is not None else None,
        "files": files.data(),
    }


def _page(subject: PageSubject) -> str:
    assets = importlib.resources.files("stator.debug.view") / "assets"
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
