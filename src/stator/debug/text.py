"""report_text(): a report for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from stator.debug.report_contents import CaptureReport, Fact, Line, ReportContents
from stator.location import shown_file

SECTIONS = (
    ("regions", "regions"),
    ("sizes", "dynamic sizes"),
    ("size_checks", "size checks, made by each run"),
    ("fixed", "guards: another value causes a new capture"),
    ("state_inputs", "state that each run reads again"),
    ("effects", "effects"),
    ("converted", "converted"),
    ("left_alone", "not converted"),
)
WIDTH = 48


def report_text(report: ReportContents) -> str:
    """The report by source line, then the facts of each capture."""
    times = {0: "not captured", 1: "captured once"}.get(len(report.captures))
    lines = [f"{report.function}: {times or f'captured {len(report.captures)} times'}"]
    if report.refused:
        lines += ["", "refused:", *_indented(report.refused)]
    for fact in report.fallbacks:
        lines += ["", f"runs eagerly (full_graph=False): {_fact(fact)}"]
    for number, capture in enumerate(report.captures, 1):
        lines += ["", *_capture(number, capture)]
    return "\n".join(lines)


def _capture(number: int, capture: CaptureReport) -> Iterator[str]:
    yield f"{number}. because {capture.because}"
    yield f"   takes {', '.join(capture.inputs) or 'nothing'}; {_ops(capture.ops)}"
    if capture.backend:
        yield f"   runs in: {capture.backend}"
    where = ("", "")
    for line in capture.lines:
        if (line.file, line.function) != where:
            where = (line.file, line.function)
            yield ""
            yield f"   {shown_file(line.file)}, in {line.function}"
        yield from _line(line)
    for name, title in SECTIONS:
        facts = getattr(capture, name)
        if facts:
            yield ""
            yield f"   {title}:"
            yield from (f"     {_fact(fact)}" for fact in facts)
    if capture.watched:
        yield ""
        yield f"   {watched_words(len(capture.watched))}"


def watched_words(count: int) -> str:
    """How many objects the program relies on."""
    if count == 1:
        return "one object must stay as it is (a module, a function, a list)"
    return f"{count} objects must stay as they are (modules, functions, lists)"


def _line(line: Line) -> Iterator[str]:
    source = f"   {line.line:5} | {line.source}"
    notes = [*line.notes, *([_ops(line.ops)] if line.ops else [])]
    for note in notes or [""]:
        yield f"{source:<{WIDTH}}  {note}".rstrip()
        source = " " * 8 + " |"


def _ops(count: int) -> str:
    return "1 op" if count == 1 else f"{count} ops"


def _fact(fact: Fact) -> str:
    return f"{fact.what}  ({fact.place})" if fact.place else fact.what


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()]
