"""Verification: what was run, what was seen, and what differs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stator.debug.verification.examples import Example
from stator.debug.verification.recording import First
from stator.debug.verification.text import verification_text
from stator.errors import VerificationFailed
from stator.location import Location


@dataclass(frozen=True)
class Failure:
    """One difference: of which backend, what it does, and with which input."""

    backend: str
    kind: str  # result, error, printed, argument, memory, state, gradient, refused, endless
    what: str
    how: str  # where the input comes from
    inputs: Example
    snippet: str
    first: First | None = None

    @property
    def place(self) -> Location | None:
        """The user's line of the first op that differs."""
        return self.first.place if self.first is not None else None


@dataclass(frozen=True)
class SiteReport:
    """A branch or a loop, how often each way was gone, and how many inputs were tried for more."""

    file: str
    line: int
    kind: str
    function: str
    source: str
    ways: dict[str, int]
    tried: int

    @property
    def missing(self) -> tuple[str, ...]:
        """The ways that no run has gone."""
        return tuple(way for way, count in self.ways.items() if not count)


@dataclass(frozen=True)
class BackendReport:
    """What a backend did: runs, how many with gradients, and why it was left out, if it was."""

    name: str
    runs: int
    gradients: int
    refused: tuple[str, ...]


@dataclass(frozen=True)
class Verification:
    """What `verify` gives: print it; `ok` says whether everything is as in eager code."""

    function: str
    given: int  # examples
    runs: int  # inputs that were run, the examples included
    endless: int  # inputs that were made and given up: eager code took too long
    captures: int
    backends: tuple[BackendReport, ...]
    sites: tuple[SiteReport, ...]
    failures: tuple[Failure, ...]

    @property
    def ok(self) -> bool:
        """Does every backend do what eager code does?"""
        return not self.failures

    @property
    def ways(self) -> tuple[int, int]:
        """How many ways of branches and loops were gone, and how many there are."""
        counts = [count for site in self.sites for count in site.ways.values()]
        return sum(1 for count in counts if count), len(counts)

    def __str__(self) -> str:
        return verification_text(self)

    __repr__ = __str__

    def raise_for_difference(self) -> Verification:
        """This report, if everything is as in eager code; VerificationFailed if not."""
        if not self.ok:
            raise VerificationFailed(
                f"a program differs from eager code\n{self}", at=self.failures[0].place,
                fix="run the input above with `stator.debug.eager()` and without, and report it",
            )  # fmt: skip
        return self

    def to_dict(self) -> dict[str, Any]:
        """The whole report as dicts, lists, numbers and texts."""
        gone, all_ways = self.ways
        return {
            "function": self.function, "ok": self.ok, "given": self.given, "runs": self.runs,
            "endless": self.endless, "captures": self.captures,
            "ways": {"gone": gone, "all": all_ways},
            "backends": [
                {"name": one.name, "runs": one.runs, "gradients": one.gradients,
                 "refused": list(one.refused)}
                for one in self.backends
            ],
            "sites": [
                {"file": one.file, "line": one.line, "kind": one.kind, "function": one.function,
                 "source": one.source, "ways": dict(one.ways), "tried": one.tried}
                for one in self.sites
            ],
            "failures": [_failure(one) for one in self.failures],
        }  # fmt: skip


def _failure(one: Failure) -> dict[str, Any]:
    place = one.place
    first = None
    if one.first is not None:
        first = {
            "op": one.first.op, "text": one.first.text,
            "file": place.file if place else None, "line": place.line if place else None,
        }  # fmt: skip
    return {
        "backend": one.backend, "kind": one.kind, "what": one.what, "how": one.how,
        "snippet": one.snippet, "first": first,
    }  # fmt: skip
