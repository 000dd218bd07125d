"""Reproducer: a difference on the smallest input that shows it, with the first op that differs."""

from __future__ import annotations

import contextlib
import dataclasses
from dataclasses import dataclass

from stator.api.example import Example
from stator.api.verification import Failure, FirstDifference
from stator.errors import SpecMismatch, StatorError
from stator_verify.comparison import Difference, Tolerance, difference
from stator_verify.drawing import Candidate
from stator_verify.examples import Copier
from stator_verify.makers import maker_of
from stator_verify.outcome import Outcome, Runnable, Setting, in_turn, run
from stator_verify.paths import LineCounts, first_parting
from stator_verify.recording import first_difference, recorded
from stator_verify.shrinking import shrunk
from stator_verify.snippet import snippet
from stator_verify.subject import Subject
from stator_verify.watching import PathWatch

LINES = 10_000  # of user code that an input which was made may run
OPS = 20_000  # of a program, and fifty for each of those lines; ten times as many for examples
SHRINKING = 60  # runs


def enough(eager: Outcome, given: bool) -> int:
    """More ops than a program can need for what eager code did."""
    return (OPS + 50 * eager.lines) * (10 if given else 1)


@dataclass(frozen=True)
class Reproducer:
    """Makes failures of differences."""

    subject: Subject
    setting: Setting
    tolerance: Tolerance

    def target(self, name: str, made: Candidate, *, learns: bool) -> Runnable:
        """What runs an input; StatorError where the backend cannot."""
        backend = self.subject.backends[name]
        if not made.in_turn:
            return backend(_learning(made.example, learns))
        targets = [backend(call) for call in made.example.args]
        if any(one.module is not targets[0].module for one in targets):
            raise SpecMismatch(
                "examples of several types, run in sequence, need several models",
                fix="give examples of one type: the same dtypes, ranks and Python values",
            )
        return in_turn(targets[0], made.example.args)

    def failure(self, name: str, made: Candidate, found: Difference, *, learns: bool) -> Failure:
        """The difference on the smallest input that shows it."""
        if found.kind not in ("refused", "endless") and not made.in_turn:
            smaller = shrunk(
                made.example,
                lambda one: self._still(name, Candidate(one, ""), found.kind, learns) is not None,
                self.subject.may_change,
                SHRINKING,
            )
            again = self._still(name, Candidate(smaller, ""), found.kind, learns)
            if again is not None and smaller is not made.example:
                made, found = Candidate(smaller, f"{made.how}, made smaller"), again
        calls = made.example.args if made.in_turn else (made.example,)
        text = snippet(self.subject.called, calls, self.subject.names, learns=learns)
        first = None if found.kind == "refused" else self._first(name, made, found, learns)
        return Failure(name, found.kind, found.text, made.how, made.example, text, first)

    def _still(self, name: str, made: Candidate, kind: str, learns: bool) -> Difference | None:
        """The same kind of difference, with another input."""
        eager = run(self.subject.eager, made.example, self.setting, learns=learns, lines=LINES)
        if eager.exhausted:
            return None
        try:
            target = self.target(name, made, learns=learns)
        except StatorError:
            return None
        with contextlib.ExitStack() as stack:
            if target.observed is not None:  # for its limit
                stack.enter_context(target.observed(PathWatch(enough(eager, False))))
            other = run(target, made.example, self.setting, learns=learns)
        found = difference(eager, other, self.tolerance, live=target.live)
        return found if found is not None and found.kind == kind else None

    def _first(
        self, name: str, made: Candidate, found: Difference, learns: bool
    ) -> FirstDifference | None:
        """The first op that differs, where the backend lets its ops be seen."""
        try:
            target = self.target(name, made, learns=learns)
        except StatorError:
            return None
        if target.observed is None:
            return None
        original, example = self.subject.eager, made.example
        if made.in_turn:
            original, example = in_turn(original, example.args), Example()
        eager = recorded(original, example, self.setting, learns=learns)
        other = recorded(target, example, self.setting, learns=learns)
        first = first_difference(eager, other, self.subject.programs(), self.tolerance)
        return first or self._without_torch(original, target, example, found)

    def _without_torch(
        self, original: Runnable, target: Runnable, example: Example, found: Difference
    ) -> FirstDifference | None:
        """Where no op of torch differs: a branch or loop on another path, or the maker."""
        lines, watch = LineCounts(), PathWatch(OPS)
        run(dataclasses.replace(original, call=lines.calling(original.call)), example, self.setting)
        assert target.observed is not None
        with target.observed(watch):
            run(target, example, self.setting)
        first, program = first_parting(lines.counts, watch), self.subject.served()
        if first is None and program is not None and found.kind == "result":
            first = maker_of(program, found.path)
        return first


def _learning(example: Example, learns: bool) -> Example:
    """The example as it is run."""
    return Copier(learns=True).example(example) if learns else example
