"""Watching: which way each condition of the user's went, and how far it was from the other."""

import pytest
import torch

import stator
from stator import InputSpec
from stator.execute.backend import RunOptions
from stator.execute.interpreter import run
from stator_verify.sites import Goal
from stator_verify.watching import FAR, PathWatch


def watched(function, *args):
    """What is seen of one run."""
    captured = stator.to_static(function).capture([InputSpec.from_tensor(arg) for arg in args])
    watch = PathWatch(10_000)
    run(captured.program, args, captured.tensors, RunOptions(observer=watch))
    return watch


def the_goal(watch, path, kind=None):
    """A path at the one site of that kind."""
    (site,) = {event.site for event in watch.events if kind is None or event.site.kind == kind}
    return Goal(site, path)


def above(x):
    return 1 if x.sum() > 3 else 2


def below(x):
    return 1 if not (x < 3).any() else 2


def equal(x):
    return 1 if x[0] == x[1] else 2


def every(x):
    return 1 if ((x >= 3) & (x <= 9)).all() else 2


def number(x):
    return 1 if x.shape[0] > 5 else 2


@pytest.mark.parametrize(
    ("function", "numbers", "path", "distance"),
    [
        (above, [1.0, 0.5], "taken", 1.5),
        (above, [5.0, 0.5], "not taken", 2.5),
        (below, [1.0, 9.0], "taken", 2.0),
        (equal, [1.0, 4.0], "taken", 3.0),
        (every, [4.0, 11.0], "taken", 2.0),
    ],
)
def test_a_condition_tells_how_far_it_is_from_the_other_path(function, numbers, path, distance):
    watch = watched(function, torch.tensor(numbers))
    assert watch.distance(the_goal(watch, path)) == (1, distance)


def test_a_path_that_was_taken_is_no_distance_away():
    watch = watched(above, torch.ones(2))
    assert list(watch.taken()) == [the_goal(watch, "not taken")]
    assert watch.distance(the_goal(watch, "not taken")) == (0, 0.0)


def stepped(x):
    while x > 2:
        x = x - 1
    return x


@pytest.mark.parametrize(
    ("start", "path", "distances"),
    [
        (1.0, "no iteration", {"one iteration": (1, 1.0), "many iterations": (2, 1.0)}),
        (2.5, "one iteration", {"no iteration": (1, 0.5), "many iterations": (1, 0.5)}),
        (9.0, "many iterations", {"no iteration": (1, 7.0), "one iteration": (1, 6.0)}),
    ],
)
def test_a_loop_tells_its_iterations(start, path, distances):
    watch = watched(stepped, torch.tensor(start))
    assert [event.path for event in watch.events] == [path]
    for other, distance in distances.items():
        assert watch.distance(the_goal(watch, other)) == distance


def nested(x):
    if x > 0:
        x = x + 1
        if x > 5:
            return x * 2
    return x


def test_a_site_that_was_not_come_to_is_far():
    inner = watched(nested, torch.tensor(9.0)).events[-1].site
    watch = watched(nested, torch.tensor(-1.0))
    assert watch.distance(Goal(inner, "taken")) == FAR


def left(x):
    total = 0
    for row in x:
        if row.sum() > 3:
            break
        total += 1
        x = x + 1
    return total


def test_what_the_rewrite_adds_is_no_site():
    kinds = [event.site.kind for event in watched(left, torch.ones(2, 2)).events]
    assert set(kinds) == {"if"}  # the loop is unrolled: its size is known


def test_the_margin_has_a_gradient_where_that_is_asked_for():
    captured = stator.to_static(above).capture([InputSpec([2])])
    x = torch.ones(2, requires_grad=True)
    watch = PathWatch(100, differentiates=True)
    run(captured.program, [x.clone()], captured.tensors, RunOptions(observer=watch))
    watch.events[0].deciding("taken").backward()
    assert x.grad.tolist() == [1.0, 1.0]
