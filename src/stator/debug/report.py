"""Report: what `explain` returns; prints as text, and gives a page of HTML."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from stator.debug.html import report_page
from stator.debug.report_contents import ReportContents
from stator.debug.text import report_text
from stator.notebook import framed


@dataclass(frozen=True)
class Report(ReportContents):
    """The report of `explain`: print it, or use `to_html()` or `to_dict()`."""

    def __str__(self) -> str:
        return report_text(self)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """The whole report as dicts, lists, numbers and strings."""
        return dataclasses.asdict(self)

    def _repr_html_(self) -> str:
        return framed(self.to_html())

    def to_html(self) -> str:
        """The report as one page that needs nothing else."""
        return report_page(self)
