"""page() and view(): the page of anything that can be viewed, as text or as a file."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

from stator.debug.report import Report
from stator.debug.view.subject import EmptyPage, subject_of
from stator.frames import user_facing
from stator.notebook import framed
from stator.page.document import page_text, write_page

EMPTY = EmptyPage()


class PagePath(type(Path())):  # type: ignore[misc] # `Path` itself has no subclasses before 3.12
    """The path of a page; a notebook shows the page."""

    def _repr_html_(self) -> str:
        return framed(self.read_text(encoding="utf-8"))


@user_facing
def view(source: Any = EMPTY, path: str | os.PathLike[str] | None = None) -> Path:
    """Write the page of `source` to `path` and return the path; a notebook displays the page.

    `source` is a static function that has been called, a static module, a program, a loaded model,
    or the path of a saved one. Without it the page is empty, and opens saved models that are
    dropped on it. Without `path` the file is NAME.view.html in the working directory.
    """
    return PagePath(write_page(subject_of(source), path))


@user_facing
def page(source: Any, *, report: Report | None = None, title: str | None = None) -> str:
    """The page of `source` as text; `report` replaces the report that a function has itself."""
    subject = subject_of(source)
    return page_text(
        dataclasses.replace(
            subject,
            report=report.to_dict() if report is not None else subject.report,
            title=title if title is not None else subject.title,
        )
    )
