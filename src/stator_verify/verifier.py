"""Verifier: examples, inputs made from them, inputs for what was not seen yet; then a report."""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from stator.api.example import Example
from stator.api.verification import BackendReport, Failure, SiteReport, Verification
from stator.errors import StatorError
from stator.execute.observing import Observer
from stator_verify.comparison import (
    Difference,
    Tolerance,
    difference,
    is_raised_by_user,
    state_differs,
)
from stator_verify.drawing import Candidate, drawn
from stator_verify.examples import fingerprint
from stator_verify.outcome import Exhausted, Outcome, Runnable, Setting, in_turn, quiet, run
from stator_verify.reproducing import LINES, OPS, Reproducer, enough
from stator_verify.search import Finder, Probe, Trial, edges, nearest, slopes
from stator_verify.sites import Coverage, Goal
from stator_verify.state import ObjectStates
from stator_verify.subject import Subject
from stator_verify.watching import FAR, PathWatch

LINES_OF_EXAMPLES = 100_000_000  # no limit, but they are counted
CAPTURES = 12  # after so many, no input is made that would need another
FAILURES = 5
PASSES = 3  # over the goals: a path that was found may lead to others
DRAWN = 64  # edits of an input from which a path is searched for
PLAIN = 24  # inputs that are made even if there is no branch to look for


@dataclass(frozen=True)
class Options:
    """What the user has chosen."""

    gradients: bool
    tolerance: Tolerance
    seed: int
    budget: int
    extremes: bool


@dataclass
class Tally:
    """What a backend has done so far."""

    runs: int = 0
    gradients: int = 0
    refused: Counter[str] = field(default_factory=Counter)


class Verifier:
    """One verification."""

    def __init__(self, subject: Subject, examples: Sequence[Example], options: Options) -> None:
        self.subject, self.examples, self.options = subject, examples, options
        self.setting = Setting(ObjectStates(subject.roots), options.seed, subject.names)
        self.reproducer = Reproducer(subject, self.setting, options.tolerance)
        self.coverage = Coverage()
        self.corpus: list[Trial] = []
        self.failures: list[Failure] = []
        self.tallies = {name: Tally() for name in subject.backends}
        self.start = self.setting.state.now()
        self.keeps_state = True  # no example changes anything
        self.harmless: list[Example] = []  # examples with which eager code raises nothing
        self.tried: set[tuple[object, ...]] = set()
        self.runs = self.endless = 0

    def verify(self) -> Verification:
        """Everything, in order."""
        for number, example in enumerate(self.examples, 1):
            self.attempt(Candidate(example, f"example {number}"), given=True)
        self._run_in_turn()
        self._mutate()
        self._search()
        self._go_along_edges()
        return self._report()

    # ---- one input

    def attempt(self, made: Candidate, *, given: bool = False) -> PathWatch | None:
        """Run an input everywhere it tells something; what was watched, or None."""
        if not given and not self._may_run(made):
            return None
        self.tried.add(fingerprint(made.example))
        lines = LINES_OF_EXAMPLES if given else LINES
        eager = run(self.subject.eager, made.example, self.setting, lines=lines)
        if eager.exhausted:
            self.endless += 1
            return None
        if not given and not made.keeps_kinds and _is_refused_by_torch(eager):
            return None
        self.runs += 1
        if given:
            self.harmless += [made.example] if eager.error is None else []
            self.keeps_state &= not state_differs(self.start, eager.state)
        watch = PathWatch(enough(eager, given))
        known = len(self.subject.programs())
        with self._observed(watch):
            other = run(self.subject.program, made.example, self.setting)
        is_new = self._note(watch, made, given) or len(self.subject.programs()) > known
        self._judge(self.subject.program, made, eager, other, given=given, learns=False)
        if (given or is_new) and not other.exhausted:
            self.corpus.append(Trial(made.example, watch, self.subject.served()))
            self._run_backends(made, eager, given)
        if given and not other.exhausted:
            self._run_as_users_do(made, eager)
        return watch

    def _run_as_users_do(self, made: Candidate, eager: Outcome) -> None:
        """Without an observer; a second call takes the shortcut of calls like an earlier one."""
        for _ in range(2):
            other = run(self.subject.program, made.example, self.setting)
            self._judge(self.subject.program, made, eager, other, given=True, learns=False)

    def _note(self, watch: PathWatch, made: Candidate, given: bool) -> bool:
        """Count what was seen; was it new?"""
        program = self.subject.served()
        if program is not None:
            self.coverage.add(program, is_main=given)
        return self.coverage.note(watch.taken(), program, counts=made.counts)

    def _run_in_turn(self) -> None:
        """The examples twice over, each call from the state that the last one left."""
        calls = tuple(self.harmless) * 2
        if not calls or self.keeps_state:
            return
        made = Candidate(Example(*calls), "the examples in turn, twice", in_turn=True)
        target = in_turn(self.subject.eager, calls)
        eager = run(target, Example(), self.setting, lines=LINES_OF_EXAMPLES)
        watch = PathWatch(enough(eager, True))
        with self._observed(watch):
            other = run(in_turn(self.subject.program, calls), Example(), self.setting)
        self._note(watch, made, True)
        self._judge(self.subject.program, made, eager, other, given=True, learns=False)
        for name in self.subject.backends:
            if name != "program":
                self._run_backend_in_turn(name, made, eager)

    def _run_backend_in_turn(self, name: str, made: Candidate, eager: Outcome) -> None:
        try:
            target = self.reproducer.target(name, made, learns=False)
        except StatorError as error:
            self.tallies[name].refused[_first_line(error)] += 1
            return
        other = self._run(target, Example(), enough(eager, True), learns=False)
        self._judge(target, made, eager, other, given=True, learns=False)

    def _may_run(self, made: Candidate) -> bool:
        if not self._has_budget():
            return False
        if fingerprint(made.example) in self.tried:
            return False
        return made.keeps_kinds or len(self.subject.programs()) < CAPTURES

    def _observed(self, watch: Observer) -> contextlib.AbstractContextManager[None]:
        assert self.subject.program.observed is not None
        return self.subject.program.observed(watch)

    def _run_backends(self, made: Candidate, plain: Outcome, given: bool) -> None:
        """Every backend on this input, with gradients where eager code has them."""
        eager, learns = plain, False
        if self.options.gradients and plain.error is None:
            learned = run(self.subject.eager, made.example, self.setting, learns=True)
            if learned.error is None:  # a leaf that requires grad cannot be written in place
                eager, learns = learned, True
        for name in self.subject.backends:
            try:
                target = self.reproducer.target(name, made, learns=learns)
            except StatorError as error:
                self.tallies[name].refused[_first_line(error)] += 1
                continue
            self.tallies[name].gradients += bool(eager.gradients)
            other = self._run(target, made.example, enough(plain, given), learns)
            self._judge(target, made, eager, other, given=given, learns=learns)

    def _run(self, target: Runnable, example: Example, ops: int, learns: bool) -> Outcome:
        """A run of no more than so many ops, where the backend lets them be seen."""
        if target.observed is None:
            return run(target, example, self.setting, learns=learns)
        with target.observed(PathWatch(ops)):
            return run(target, example, self.setting, learns=learns)

    # ---- what it did

    def _judge(
        self,
        target: Runnable,
        made: Candidate,
        eager: Outcome,
        other: Outcome,
        *,
        given: bool,
        learns: bool,
    ) -> None:
        name = target.name
        if name not in self.tallies:
            return  # the program was only watched
        self.tallies[name].runs += 1
        found = difference(eager, other, self.options.tolerance, live=target.live)
        if found is None:
            return
        if found.kind == "refused" and not (given and eager.error is None and name == "program"):
            self.tallies[name].refused[_first_line(other.error)] += 1
            return
        if len(self.failures) < FAILURES and not self._is_known(name, found):
            self.failures.append(self.reproducer.failure(name, made, found, learns=learns))

    def _is_known(self, name: str, found: Difference) -> bool:
        return any((one.backend, one.kind) == (name, found.kind) for one in self.failures)

    # ---- other inputs

    def _mutate(self) -> None:
        """Inputs that are like the examples."""
        made = [
            drawn(
                one,
                self.subject.may_change,
                seed=self.options.seed,
                count=self.options.budget,
                extremes=self.options.extremes,
            )
            for one in self.examples
        ]
        for tried, one in enumerate(_in_turn(made)):
            limit = self.options.budget // 2 if self.coverage.missing() else PLAIN
            if tried >= limit or not self._has_budget():
                return
            self.attempt(one)

    def _has_budget(self) -> bool:
        if len(self.failures) >= FAILURES or any(one.kind == "endless" for one in self.failures):
            return False
        return self.runs + self.endless < self.options.budget

    def _search(self) -> None:
        """Inputs for each path that was not taken."""
        finder = Finder(self.attempt, self._slopes, self._drawn)
        for _ in range(PASSES):
            missing = self.coverage.missing()
            for goal in missing:
                if not self._has_budget():
                    return
                if not self.coverage.seen[goal]:
                    before = self.runs + self.endless
                    finder.find(goal, self._telling(goal), self._share())
                    self.coverage.tried[goal] += self.runs + self.endless - before
            if len(self.coverage.missing()) == len(missing):
                return

    def _telling(self, goal: Goal) -> list[Trial]:
        """The inputs to start from: those whose program `goal` is about."""
        return [seen for seen in self.corpus if self.coverage.is_told_by(goal, seen.program)]

    def _share(self) -> int:
        left = self.options.budget - self.runs - self.endless
        return max(16, left // max(1, len(self.coverage.missing())))

    def _go_along_edges(self) -> None:
        """Where each condition turns: `<` and `<=`, 3 and 4 differ nowhere else."""
        for goal in self.coverage.goals():
            for seen in nearest(self._telling(goal), goal):
                if seen.watch.other_distance(goal) < FAR:
                    for made in edges(seen.example, goal, self._probe(seen.example)):
                        if not self._has_budget():
                            return
                        self.attempt(made)

    def _drawn(self, example: Example) -> Iterator[Candidate]:
        return drawn(
            example, self.subject.may_change, seed=self.options.seed, count=DRAWN, single=True
        )

    def _slopes(self, example: Example, goal: Goal) -> Iterator[Candidate]:
        return slopes(example, goal, self._probe(example))

    def _probe(self, example: Example) -> Probe:
        """Runs of the program of `example` with gradients, for hints."""

        def probe(learning: Example, look: Callable[[PathWatch], None]) -> None:
            watch = PathWatch(OPS, differentiates=True)
            self.setting.state.restore()
            try:
                with quiet(self.options.seed), contextlib.redirect_stdout(io.StringIO()):
                    with contextlib.suppress(Exception, Exhausted):  # what was watched is enough
                        self.subject.probe(example, learning, watch)
                    with contextlib.suppress(RuntimeError):  # a graph that was written into
                        look(watch)
            finally:
                self.setting.state.restore()

        return probe

    # ---- the report

    def _report(self) -> Verification:
        return Verification(
            self.subject.name, len(self.examples), self.runs, self.endless,
            len(self.subject.programs()),
            tuple(
                BackendReport(name, one.runs, one.gradients, tuple(one.refused))
                for name, one in self.tallies.items()
            ),
            tuple(self._sites()), tuple(self.failures),
        )  # fmt: skip

    def _sites(self) -> Iterator[SiteReport]:
        for site in self.coverage.sites:
            goals = [Goal(site, path) for path in site.paths]
            yield SiteReport(
                site.file, site.line, site.kind, site.function, site.source,
                {one.path: self.coverage.seen[one] + self.coverage.barely[one] for one in goals},
                sum(self.coverage.tried[goal] for goal in goals if not self.coverage.seen[goal]),
            )  # fmt: skip


def _in_turn(made: Sequence[Iterator[Candidate]]) -> Iterator[Candidate]:
    """One of each, then the next of each."""
    left = list(made)
    while left:
        for one in tuple(left):
            try:
                yield next(one)
            except StopIteration:
                left.remove(one)


def _is_refused_by_torch(eager: Outcome) -> bool:
    """Sizes or values that the code was not made for."""
    return eager.error is not None and not is_raised_by_user(eager.error)


def _first_line(error: Exception | None) -> str:
    return str(error).partition("\n")[0]
