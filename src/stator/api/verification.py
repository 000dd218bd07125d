"""Verification: the report of `stator.verify`, and how it prints."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stator.api.example import Example
from stator.errors import VerificationFailed
from stator.location import Location
from stator.notebook import preformatted

WIDTH = 40  # of the source column


@dataclass(frozen=True)
class FirstDifference:
    """The first op that differs, described, and its place in the user's code."""

    op: str
    text: str
    place: Location | None = None


@dataclass(frozen=True)
class Failure:
    """One difference: which backend, what it does, and on which input."""

    backend: str
    kind: str  # result, error, printed, argument, memory, state, gradient, refused, endless
    what: str
    how: str  # where the input comes from
    inputs: Example
    snippet: str
    first: FirstDifference | None = None

    @property
    def place(self) -> Location | None:
        """The user's line of the first op that differs."""
        return self.first.place if self.first is not None else None


@dataclass(frozen=True)
class SiteReport:
    """A branch or a loop: how often each path was taken, and inputs tried for missing ones."""

    file: str
    line: int
    kind: str
    function: str
    source: str
    paths: dict[str, int]
    tried: int

    @property
    def missing(self) -> tuple[str, ...]:
        """The paths that no run took."""
        return tuple(path for path, count in self.paths.items() if not count)


@dataclass(frozen=True)
class BackendReport:
    """What a backend did: runs, how many with gradients, and why inputs were refused."""

    name: str
    runs: int
    gradients: int
    refused: tuple[str, ...]


@dataclass(frozen=True)
class Verification:
    """The report of `verify`: print it; `ok` says whether every backend matches eager code."""

    function: str
    given: int  # examples
    runs: int  # inputs that were run, the examples included
    endless: int  # generated inputs that were abandoned: eager code took too long
    captures: int
    backends: tuple[BackendReport, ...]
    sites: tuple[SiteReport, ...]
    failures: tuple[Failure, ...]

    @property
    def ok(self) -> bool:
        """Does every backend do what eager code does?"""
        return not self.failures

    @property
    def paths(self) -> tuple[int, int]:
        """How many paths of branches and loops were covered, and how many there are."""
        counts = [count for site in self.sites for count in site.paths.values()]
        return sum(1 for count in counts if count), len(counts)

    def __str__(self) -> str:
        verdict = "matches eager code" if self.ok else "differs from eager code"
        lines = [f"{self.function}: {verdict}"]
        for number, failure in enumerate(self.failures, 1):
            lines += ["", *_failure_lines(number, failure)]
        lines += ["", *_run_lines(self)]
        if self.sites:
            lines += ["", *_site_lines(self)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return preformatted(str(self))

    def raise_for_difference(self) -> Verification:
        """This report, if everything matches eager code; otherwise raises VerificationFailed."""
        if not self.ok:
            raise VerificationFailed(
                f"a program differs from eager code\n{self}", at=self.failures[0].place,
                fix="run the input above with `stator.debug.eager()` and without, and report it",
            )  # fmt: skip
        return self

    def to_dict(self) -> dict[str, Any]:
        """The whole report as dicts, lists, numbers and strings."""
        covered, every = self.paths
        return {
            "function": self.function, "ok": self.ok, "given": self.given, "runs": self.runs,
            "endless": self.endless, "captures": self.captures,
            "paths": {"covered": covered, "all": every},
            "backends": [
                {**dataclasses.asdict(one), "refused": list(one.refused)} for one in self.backends
            ],
            "sites": [dataclasses.asdict(one) for one in self.sites],
            "failures": [_failure_dict(one) for one in self.failures],
        }  # fmt: skip


def _failure_dict(one: Failure) -> dict[str, Any]:
    place, first = one.place, None
    if one.first is not None:
        first = {
            "op": one.first.op, "text": one.first.text,
            "file": place.file if place else None, "line": place.line if place else None,
        }  # fmt: skip
    return {
        "backend": one.backend, "kind": one.kind, "what": one.what, "how": one.how,
        "snippet": one.snippet, "first": first,
    }  # fmt: skip


# ---- as text


def _failure_lines(number: int, failure: Failure) -> Iterator[str]:
    yield f"{number}. {failure.backend}: {_indented(failure.what)}"
    if failure.first is not None:
        place = failure.first.place
        where = f"{place.short}: " if place is not None else ""
        yield f"   first: {where}{_indented(failure.first.text)}"
    yield f"   on this input ({failure.how}):"
    for line in failure.snippet.splitlines():
        yield f"       {line}".rstrip()


def _indented(text: str) -> str:
    return text.replace("\n", "\n   ")


def _run_lines(report: Verification) -> Iterator[str]:
    programs = "one program" if report.captures == 1 else f"{report.captures} programs"
    generated = report.runs - report.given
    yield f"  inputs: {report.given} given, {generated} generated; {programs}"
    if report.endless:
        yield f"  abandoned: {report.endless} generated inputs on which eager code did not finish"
    for backend in report.backends:
        yield f"  {backend.name}: {backend.runs} runs, {backend.gradients} of them with gradients"
        for reason in backend.refused:
            yield f"    refused: {_indented(reason)}"


def _site_lines(report: Verification) -> Iterator[str]:
    covered, every = report.paths
    yield f"  branches and loops: {covered} of {every} paths covered"
    where = ("", "")
    for site in sorted(report.sites, key=lambda one: (one.file, one.line)):
        if (site.file, site.function) != where:
            where = (site.file, site.function)
            yield f"  {site.file}, in {site.function}"
        yield _site_line(site)


def _site_line(site: SiteReport) -> str:
    source = site.source if len(site.source) <= WIDTH else site.source[: WIDTH - 1] + "…"
    paths = ", ".join(f"{path} {count or 'never'}" for path, count in site.paths.items())
    tried = f" ({site.tried} inputs tried for it)" if site.missing and site.tried else ""
    return f"  {site.line:5}  {source:{WIDTH}}  {paths}{tried}"
