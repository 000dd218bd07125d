"""verification_text(): a verification for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stator.debug.verification.report import BackendReport, Failure, SiteReport, Verification

WIDTH = 40


def verification_text(report: Verification) -> str:
    """Differences first, then what was run, then the lines."""
    verdict = "the same as eager code" if report.ok else "differs from eager code"
    lines = [f"{report.function}: {verdict}"]
    for number, failure in enumerate(report.failures, 1):
        lines += ["", *_failure(number, failure)]
    lines += ["", *_runs(report)]
    if report.sites:
        lines += ["", *_sites(report)]
    return "\n".join(lines)


def _failure(number: int, failure: Failure) -> Iterator[str]:
    yield f"{number}. {failure.backend}: {_indented(failure.what)}"
    if failure.first is not None:
        place = failure.first.place
        where = f"{place.short}: " if place is not None else ""
        yield f"   first: {where}{_indented(failure.first.text)}"
    yield f"   with this input ({failure.how}):"
    for line in failure.snippet.splitlines():
        yield f"       {line}".rstrip()


def _indented(text: str) -> str:
    return text.replace("\n", "\n   ")


def _runs(report: Verification) -> Iterator[str]:
    made = report.runs - report.given
    yield f"  inputs: {report.given} given, {made} made from them; {_captures(report.captures)}"
    if report.endless:
        yield f"  given up: {report.endless} made inputs, with which eager code seems not to end"
    for backend in report.backends:
        yield from _backend(backend)


def _captures(count: int) -> str:
    return "one program" if count == 1 else f"{count} programs"


def _backend(backend: BackendReport) -> Iterator[str]:
    yield f"  {backend.name}: {backend.runs} runs, {backend.gradients} of them with gradients"
    for reason in backend.refused:
        yield f"    refused: {_indented(reason)}"


def _sites(report: Verification) -> Iterator[str]:
    gone, all_ways = report.ways
    yield f"  branches and loops: {gone} of {all_ways} ways gone"
    where = ("", "")
    for site in sorted(report.sites, key=lambda one: (one.file, one.line)):
        if (site.file, site.function) != where:
            where = (site.file, site.function)
            yield f"  {site.file}, in {site.function}"
        yield _site(site)


def _site(site: SiteReport) -> str:
    source = site.source if len(site.source) <= WIDTH else site.source[: WIDTH - 1] + "…"
    ways = ", ".join(f"{way} {count or 'never'}" for way, count in site.ways.items())
    tried = f" ({site.tried} inputs tried for it)" if site.missing and site.tried else ""
    return f"  {site.line:5}  {source:{WIDTH}}  {ways}{tried}"
