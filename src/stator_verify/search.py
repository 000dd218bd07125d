"""Search: inputs for the paths that no run took yet.

Three means, in this order, from the input that came nearest: the gradient of the margin leads
over the point where the condition turns; between an input that takes one path and one that takes
another, bisection finds what lies between; and edits are drawn, of single elements as well. What
comes nearer is where the next attempt starts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from stator.api.example import Example
from stator.program.program import Program
from stator.values.containers import Path
from stator_verify.drawing import LARGE, Candidate
from stator_verify.examples import ExampleLeaf, leaves_of, replaced
from stator_verify.sites import Goal
from stator_verify.watching import FAR, Distance, PathWatch

ROUNDS = 4
STEPS = (1.0, 2.0, 10.0)
ELEMENTS = 4  # of a tensor that are moved one by one
EDGES = 4  # inputs at the point where a condition turns


@dataclass(frozen=True)
class Trial:
    """An input that was run, and what was watched."""

    example: Example
    watch: PathWatch
    program: Program | None = None


def nearest(corpus: list[Trial], goal: Goal) -> list[Trial]:
    """The input that came nearest to `goal` where it took another path; none if there is none."""
    return sorted(corpus, key=lambda seen: seen.watch.other_distance(goal))[:1]


Attempt = Callable[[Candidate], PathWatch | None]  # a run; None where it told nothing
# runs the program with gradients, and lets someone look at what was watched while they are there
Probe = Callable[[Example, Callable[[PathWatch], None]], None]


@dataclass(frozen=True)
class Finder:
    """Looks for inputs: `attempt` runs one, `slopes` follows a gradient, `draw` gives others."""

    attempt: Attempt
    slopes: Callable[[Example, Goal], Iterator[Candidate]]
    draw: Callable[[Example], Iterator[Candidate]]

    def find(self, goal: Goal, corpus: list[Trial], budget: int) -> bool:
        """Was an input found that takes this path?"""
        near = sorted(corpus, key=lambda seen: seen.watch.distance(goal))[:2]
        for seen in near:
            if seen.watch.distance(goal) < FAR and self._climb(goal, seen, corpus, budget // 2):
                return True
        return False

    def _climb(self, goal: Goal, start: Trial, corpus: list[Trial], budget: int) -> bool:
        best, used = (start.example, start.watch.distance(goal)), 0
        for _ in range(ROUNDS):
            better: tuple[Example, Distance] | None = None
            for made in self._candidates(goal, best[0], corpus):
                if used >= budget:
                    return False
                used += 1
                watch = self.attempt(made)
                if watch is None:
                    continue
                distance = watch.distance(goal)
                if distance == (0, 0.0) and any(one == goal for one in watch.taken()):
                    return True
                if distance < (better or best)[1]:
                    better = (made.example, distance)
                    break
            if better is None:
                return False
            best = better
        return False

    def _candidates(self, goal: Goal, example: Example, corpus: list[Trial]) -> Iterator[Candidate]:
        yield from self.slopes(example, goal)
        yield from between(goal, corpus)
        yield from self.draw(example)


def _floats(example: Example) -> list[ExampleLeaf]:
    return [
        leaf
        for leaf in leaves_of(example)
        if isinstance(leaf.value, torch.Tensor) and leaf.value.is_floating_point()
    ]


@dataclass(frozen=True)
class Slope:
    """Where the margin leads: its value, what it is to become, and its gradient by leaf."""

    now: float
    wanted: float  # just over the point where the condition turns
    gradients: dict[Path, torch.Tensor]


def slopes(example: Example, goal: Goal, probe: Probe) -> Iterator[Candidate]:
    """Steps along the gradient of the margin that decides, over the point where it turns."""
    slope = _slope(example, goal, probe)
    if slope is None:
        return
    values = {leaf.path: leaf.value.detach() for leaf in _floats(example)}
    length = sum(float((g.double() ** 2).sum()) for g in slope.gradients.values())
    if not 0.0 < length < float("inf"):
        return
    # to the very point, for an equation; then over it
    for change in (-slope.now, *((slope.wanted - slope.now) * step for step in STEPS)):
        moved = {
            path: (values[path] + change / length * g).to(g.dtype)
            for path, g in slope.gradients.items()
        }
        yield Candidate(replaced(example, moved), "along the gradient of the condition")
        if change == -slope.now:
            yield from _single(example, values, slope)


def _slope(example: Example, goal: Goal, probe: Probe) -> Slope | None:
    learning = {
        leaf.path: leaf.value.detach().clone().requires_grad_()
        for leaf in _floats(example)
        if leaf.value.numel()
    }
    if not learning:
        return None
    given = replaced(example, {path: one.clone() for path, one in learning.items()})
    found: list[Slope] = []

    def look(watch: PathWatch) -> None:
        event = watch.nearest(goal)
        margin = event.deciding(goal.path) if event is not None else None
        if event is not None and margin is not None and margin.requires_grad:
            found.append(_slope_of(margin, event.holds(goal.path), learning))

    probe(given, look)
    return found[0] if found else None


def _slope_of(margin: torch.Tensor, holds: bool, learning: dict[Path, torch.Tensor]) -> Slope:
    number = margin.flatten()[margin.detach().abs().argmin()]
    found = torch.autograd.grad(number, list(learning.values()), allow_unused=True)
    now = float(number.detach())
    over = 1e-3 + 1e-3 * abs(now)  # also where numbers are rounded
    gradients = {path: g for path, g in zip(learning, found, strict=True) if g is not None}
    return Slope(now, -over if holds else over, gradients)


def _single(
    example: Example, values: dict[Path, torch.Tensor], slope: Slope
) -> Iterator[Candidate]:
    """One element alone: the others may be what earlier conditions need."""
    for path, gradient in slope.gradients.items():
        numbers = gradient.flatten()
        for place in numbers.abs().argsort()[-ELEMENTS:].tolist():
            if numbers[place] == 0:
                continue
            for change in (-slope.now, slope.wanted - slope.now):
                made = values[path].clone().contiguous()
                made.view(-1)[place] += change / float(numbers[place])
                yield Candidate(replaced(example, {path: made}), "one element along the gradient")


def edges(example: Example, goal: Goal, probe: Probe) -> Iterator[Candidate]:
    """The very point where a condition turns, and both sides of it."""
    yield from itertools.islice(slopes(example, goal, probe), EDGES)
    margins: list[torch.Tensor] = []

    def look(watch: PathWatch) -> None:
        event = watch.nearest(goal)
        margin = event.deciding(goal.path) if event is not None else None
        margins.extend([] if margin is None else [margin.detach()])

    probe(example, look)
    if not margins or not bool(margins[0].isfinite().all()):
        return
    far = round(float(margins[0].abs().amin()))
    for leaf in leaves_of(example):
        if _is_whole(leaf.value) and 0 < leaf.value.numel() <= ELEMENTS and far <= LARGE:
            for by in (far, -far, far + 1, -far - 1):
                moved = (leaf.value.detach() + by).to(leaf.value.dtype)
                yield Candidate(replaced(example, {leaf.path: moved}), "where a condition turns")


def _is_whole(value: object) -> bool:
    if not isinstance(value, torch.Tensor) or value.dtype == torch.bool:
        return False
    return not value.is_floating_point() and not value.is_complex()


def between(goal: Goal, corpus: list[Trial]) -> Iterator[Candidate]:
    """Points between two inputs that take different paths at the site of `goal`."""
    taken: dict[str, Example] = {}
    for seen in corpus:
        for event in seen.watch.events:
            if event.site == goal.site:
                taken.setdefault(event.path, seen.example)
    for first, second in itertools.combinations(taken.values(), 2):
        for part in (0.5, 0.25, 0.75, 0.1, 0.9):
            made = _mixed(first, second, part)
            if made is not None:
                yield Candidate(made, "between two inputs")


def _mixed(first: Example, second: Example, part: float) -> Example | None:
    pairs = list(zip(leaves_of(first), leaves_of(second), strict=False))
    changes = {}
    for one, other in pairs:
        a, c = one.value, other.value
        if one.path != other.path or not isinstance(a, torch.Tensor):
            continue
        if isinstance(c, torch.Tensor) and a.shape == c.shape and a.dtype != torch.bool:
            mixed = a.detach().double() * (1 - part) + c.detach().double() * part
            if a.is_complex() or not bool(mixed.isfinite().all()):
                continue
            changes[one.path] = mixed.to(a.dtype)
    return replaced(first, changes) if changes else None
