"""report_page(): a report as one HTML page that needs no network."""

from __future__ import annotations

import html
from collections.abc import Iterator

from stator.debug.report_contents import CaptureReport, Fact, Line, ReportContents
from stator.debug.text import SECTIONS, watched_words
from stator.location import shown_file

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
td { vertical-align: top; padding: .1rem .6rem; border-bottom: 1px solid #8884; }
td.number { text-align: right; opacity: .6; }
td.source { font-family: monospace; white-space: pre; }
td.note { color: #0a6; } pre { overflow-x: auto; } h3 { font-family: monospace; }
li span { opacity: .6; font-family: monospace; }
"""


def report_page(report: ReportContents) -> str:
    """The whole page."""
    title = html.escape(report.function)
    return "\n".join([
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
        f"<style>{STYLE}</style></head><body>",
        f"<h1>{title}</h1>",
        *_body(report),
        "</body></html>\n",
    ])  # fmt: skip


def _body(report: ReportContents) -> Iterator[str]:
    if report.refused:
        yield f"<h2>Refused</h2><pre>{html.escape(report.refused)}</pre>"
    if report.fallbacks:
        yield "<h2>Runs eagerly (full_graph=False)</h2>" + _list(report.fallbacks)
    for number, capture in enumerate(report.captures, 1):
        yield f"<h2>{number}. because {html.escape(capture.because)}</h2>"
        inputs = ", ".join(capture.inputs) or "nothing"
        yield f"<p>takes {html.escape(inputs)}; {capture.ops} ops</p>"
        if capture.backend:
            yield f"<p>runs in: {html.escape(capture.backend)}</p>"
        yield from _lines(capture)
        for name, title in SECTIONS:
            facts = getattr(capture, name)
            if facts:
                yield f"<h4>{title}</h4>{_list(facts)}"
        if capture.watched:
            summary = watched_words(len(capture.watched))
            yield f"<details><summary>{summary}</summary>{_list(capture.watched)}</details>"


def _lines(capture: CaptureReport) -> Iterator[str]:
    where = None
    for line in capture.lines:
        if (line.file, line.function) != where:
            if where is not None:
                yield "</table>"
            where = (line.file, line.function)
            head = f"{shown_file(line.file)}, in {line.function}"
            yield f"<h3>{html.escape(head)}</h3><table>"
        yield _row(line)
    if where is not None:
        yield "</table>"


def _row(line: Line) -> str:
    notes = "<br>".join(map(html.escape, line.notes))
    source = html.escape(line.source)
    return (
        f'<tr><td class="number">{line.line}</td><td class="source">{source}</td>'
        f'<td class="note">{notes}</td><td class="number">{line.ops or ""}</td></tr>'
    )


def _list(facts: tuple[Fact, ...]) -> str:
    items = "".join(
        f"<li>{html.escape(fact.what)} <span>{html.escape(fact.place)}</span></li>"
        for fact in facts
    )
    return f"<ul>{items}</ul>"
