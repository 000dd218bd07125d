"""find_paths(): inputs that take the paths of a program which no given input takes.

Of a program alone, without the function that it comes from: a file that is made of a program is
compared with it on these inputs. The number of runs and of ops is limited, so that the same program
gives the same inputs; the time is limited too, for programs whose ops take long.
"""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from stator.api.example import Example
from stator.execute.backend import RunOptions
from stator.execute.interpreter import INTERPRETER
from stator.execute.observing import ExchangedObserver
from stator.location import file_name
from stator.program.ir import Op, Value
from stator.program.program import Program
from stator.program.sizes import Dim, Symbol, evaluate
from stator.program.types import TensorType
from stator.program.typing_rules import present
from stator.program.unions import given_faults
from stator.values.containers import Path
from stator_verify.drawing import LARGE, Candidate, drawn
from stator_verify.examples import Copier, fingerprint, leaves_of, replaced
from stator_verify.margins import Margin
from stator_verify.outcome import Exhausted, quiet
from stator_verify.search import Finder, Probe, Trial, slopes
from stator_verify.sites import LOOP, Coverage, Goal, Site
from stator_verify.watching import PathWatch

WORDS = {"stator::if": "if", "stator::while": "while", "stator::assert": "assert"}
RUNS = 60
OPS_OF_RUN = 3_000
OPS = 15_000
SECONDS = 10.0
DRAWN = 24  # edits of one input
SHARE = 24  # runs for one path
SEED = 0
CLEAR = 5e-3  # from the point where a condition turns
SMALL = 4  # elements of a tensor of whole numbers that are moved together


@dataclass(frozen=True)
class FoundPaths:
    """Inputs that take other paths than the given ones, and which paths any of them takes."""

    inputs: tuple[tuple[Any, ...], ...]
    taken: int
    missing: tuple[str, ...]  # paths that no input takes, in words


def find_paths(
    program: Program,
    stored: Mapping[str, torch.Tensor],
    given: Sequence[Sequence[Any]],
    *,
    changing: Collection[str],
) -> FoundPaths:
    """Run `program` on the `given` inputs and on others; each run starts from `stored`.

    `changing` are the names of the stored tensors that a run writes to.
    """
    return _PathSearch(program, stored, changing).find(given)


class _PathSearch:
    """One search."""

    def __init__(
        self, program: Program, stored: Mapping[str, torch.Tensor], changing: Collection[str]
    ) -> None:
        self.program, self.stored, self.changing = program, stored, changing
        self.sites = sites_of(program)
        self.coverage = Coverage(dict.fromkeys(self.sites.values()))
        self.corpus: list[Trial] = []
        self.inputs: list[tuple[Any, ...]] = []
        self.barely: dict[Goal, Example] = {}  # inputs that a rounding could send elsewhere
        self.tried: set[tuple[object, ...]] = set()
        self.runs = self.ops = 0
        self.began = time.monotonic()
        self.observer = ExchangedObserver()
        self.prepared = INTERPRETER.prepare(program, RunOptions(observer=self.observer))

    def find(self, given: Sequence[Sequence[Any]]) -> FoundPaths:
        for leaves in given:
            self._try(Candidate(Example(*leaves), "given"), is_given=True)
        finder = Finder(self.attempt, self._slopes, self._drawn)
        for goal in self._missing():
            if self._has_budget() and not self.coverage.seen[goal]:
                finder.find(goal, self.corpus, SHARE)
        self._take_barely()
        missing = self._missing()
        every = len(self._goals())
        return FoundPaths(tuple(self.inputs), every - len(missing), tuple(map(_words, missing)))

    def _goals(self) -> list[Goal]:
        """The paths that some run could take: a loop that always begins has two."""
        always = {site for op, site in self.sites.items() if not isinstance(op.args[0], Value)}
        return [
            goal
            for goal in self.coverage.goals()
            if goal.site not in always or (goal.site.paths is LOOP and goal.path != LOOP[0])
        ]

    def _missing(self) -> list[Goal]:
        return [goal for goal in self._goals() if not self.coverage.seen[goal]]

    def _has_budget(self) -> bool:
        in_time = time.monotonic() - self.began < SECONDS
        return in_time and self.runs < RUNS and self.ops < OPS

    # ---- runs

    def attempt(self, made: Candidate) -> PathWatch | None:
        """Run an input, and keep it if it takes a path that none has taken."""
        key = fingerprint(made.example)
        if not self._has_budget() or key in self.tried or not fits(self.program, made.example):
            return None
        self.tried.add(key)
        return self._try(made, is_given=False)

    def _try(self, made: Candidate, *, is_given: bool) -> PathWatch | None:
        watch = self._watch()
        try:
            with torch.no_grad():
                self._run(Copier().example(made.example), watch)
        except Exhausted:
            return None
        finally:
            self.runs += not is_given
            self.ops += watch.ops
        if not is_given and not is_clear(watch):
            new = [g for g in watch.taken() if not self.coverage.seen[g] and g not in self.barely]
            self.barely |= dict.fromkeys(new, made.example)
            self.corpus += [Trial(made.example, watch)] if new else []
            return None  # the search goes on, for a clearer one
        is_new = self.coverage.note(watch.taken(), None, counts=True)
        if is_new or is_given:
            self.corpus.append(Trial(made.example, watch))
        if is_new and not is_given:
            self.inputs.append(made.example.args)
        return watch

    def _take_barely(self) -> None:
        """For a path that is taken only where a condition turns, an input from there."""
        for goal in self._missing():
            if goal in self.barely:
                self.coverage.seen[goal] += 1
                self.inputs.append(self.barely[goal].args)

    def _watch(self, *, differentiates: bool = False) -> PathWatch:
        return PathWatch(OPS_OF_RUN, differentiates, site_of=self.sites.get)

    def _run(self, example: Example, watch: PathWatch) -> None:
        self.observer.observer = watch
        copies = {name: self.stored[name].detach().clone() for name in self.changing}
        with quiet(SEED), contextlib.redirect_stdout(io.StringIO()):
            self.prepared.bind({**self.stored, **copies})(example.args)

    # ---- other inputs

    def _slopes(self, example: Example, goal: Goal) -> Iterator[Candidate]:
        yield from slopes(example, goal, self._probe)
        yield from _whole_steps(example, goal, self._probe)

    def _probe(self, learning: Example, look: Callable[[PathWatch], None]) -> None:
        watch = self._watch(differentiates=True)
        with torch.enable_grad():
            with contextlib.suppress(Exception, Exhausted):  # what was watched is enough
                self._run(learning, watch)
            self.ops += watch.ops
            with contextlib.suppress(RuntimeError):  # a graph that was written into
                look(watch)

    def _drawn(self, example: Example) -> Iterator[Candidate]:
        return drawn(example, self._may_change, seed=SEED, count=DRAWN, single=True)

    def _may_change(self, path: Path, dim: int) -> bool:
        kind = self.program.inputs[int(path[0])].type
        if not isinstance(kind, TensorType) or len(path) > 1:
            return False
        return not isinstance(kind.shape[dim], int)


def is_clear(watch: PathWatch) -> bool:
    """Whether each condition, of floats, is farther from turning than a rounding could lead."""
    for event in watch.events:
        for margin in event.margins:
            if margin is not None and margin.numel():
                least = float(margin.detach().abs().amin())
                is_whole = margin.dtype == torch.float64 and least == 0.0  # of integers
                if least < CLEAR and not is_whole:
                    return False
    return True


def _whole_steps(example: Example, goal: Goal, probe: Probe) -> Iterator[Candidate]:
    """Whole numbers, moved to where a condition turns and over it."""
    margins: list[Margin] = []

    def look(watch: PathWatch) -> None:
        event = watch.nearest(goal)
        margin = event.deciding(goal.path) if event is not None else None
        margins.extend([] if margin is None else [margin.detach().abs()])

    probe(example, look)
    if not margins or not margins[0].numel() or not bool(margins[0].isfinite().all()):
        return
    far = round(float(margins[0].amin()))
    for leaf in leaves_of(example):
        is_number = type(leaf.value) is int
        if far <= LARGE and (is_number or (_is_whole(leaf.value) and leaf.value.numel() <= SMALL)):
            for by in (far, -far, far + 1, -far - 1):
                moved = leaf.value + by
                moved = moved if is_number else moved.to(leaf.value.dtype)
                yield Candidate(replaced(example, {leaf.path: moved}), "where a condition turns")


def _is_whole(value: object) -> bool:
    if not isinstance(value, torch.Tensor) or value.dtype == torch.bool:
        return False
    return not value.is_floating_point() and not value.is_complex() and value.numel() > 0


def sites_of(program: Program) -> dict[Op, Site]:
    """Every op that chooses, each a site of its own, whoever wrote it."""
    found: dict[Op, Site] = {}
    for op in program.ops():
        if op.name in WORDS and (op.name == "stator::while" or isinstance(op.args[0], Value)):
            file, line, function = ("", 0, "")
            if op.place is not None:
                file, line, function = op.place.file, op.place.line, op.place.function
            found[op] = Site(file, line, len(found), WORDS[op.name], function)
    return found


def _words(goal: Goal) -> str:
    site = goal.site
    where = f"{file_name(site.file)}:{site.line} " if site.file else ""
    return f"{where}{site.kind} ({goal.path})"


def fits(program: Program, example: Example) -> bool:
    """Whether the sizes of an input, and the parts of its unions, are as the program declares."""
    if any(given_faults(program.inputs, example.args)):
        return False
    pairs: list[tuple[Dim, int]] = []
    for value, leaf in zip(program.inputs, example.args, strict=True):
        kind = present(value.type)
        if isinstance(kind, TensorType) and leaf is not None:
            pairs += zip(kind.shape, leaf.shape, strict=True)
    sizes: dict[str, int] = {}
    for size, found in pairs:
        if isinstance(size, Symbol):
            sizes.setdefault(size.name, found)
    return all(evaluate(size, sizes) in (None, found) for size, found in pairs)
