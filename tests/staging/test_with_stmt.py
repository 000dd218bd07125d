"""with: managers that users write run through staging, torch's own as they are."""

import contextlib

import torch

import stator
from tests.capture.oracle import check

CALLS = ((torch.ones(1),), (-torch.ones(1),))


class Doubling:
    def __init__(self, x):
        self.x, self.log = x, []

    def __enter__(self):
        self.log.append("in")
        return self.x * 2 if self.x.sum() > 0 else self.x

    def __exit__(self, kind, error, trace):
        self.log.append("out" if kind is None else kind.__name__)
        return kind is KeyError


def test_a_users_manager_is_converted():
    def f(x):
        manager = Doubling(x)
        with manager as y:
            y = y + 1
        return y, manager.log

    check(f, *CALLS)


def test_a_manager_that_swallows_an_error_does_so():
    def f(x):
        manager = Doubling(x)
        with manager:
            raise KeyError("a")
        return manager.log

    check(f, *CALLS)


def test_an_error_passes_a_manager_that_does_not_swallow_it():
    def f(x):
        with Doubling(x):
            raise ValueError("a")

    check(f, *CALLS)


def test_the_body_may_branch():
    def f(x):
        with Doubling(x) as y:
            if y.sum() > 0:
                y = y + 1
        return y

    check(f, *CALLS)


def test_a_generator_manager_runs_around_the_body():
    @contextlib.contextmanager
    def logged(log):
        log.append("in")
        yield 3
        log.append("out")

    def f(x):
        log = []
        with logged(log) as k:
            x = x * k
        return x, log

    check(f, *CALLS)


def test_several_managers_are_left_in_reverse_order():
    def f(x):
        one, two = Doubling(x), Doubling(x + 1)
        with one as a, two as b:
            c = a + b
        return c, one.log, two.log

    check(f, *CALLS)


def test_return_and_break_leave_through_the_manager():
    def f(x):
        manager = Doubling(x)
        for _ in range(3):
            with manager as y:
                if y.sum() > 0:
                    break
        return len(manager.log)

    check(f, *CALLS)


def test_torch_managers_act_at_every_run():
    def f(x):
        with torch.no_grad():
            y = x * 2
        return y, (x * 3).requires_grad, y.requires_grad

    check(f, (torch.ones(1, requires_grad=True),))


def test_nullcontext_and_exit_stack_run():
    def f(x):
        with contextlib.nullcontext(x) as y, contextlib.ExitStack():
            return y + 1

    check(f, *CALLS)


STATE = {"depth": 0}


@contextlib.contextmanager
def deeper():
    STATE["depth"] += 1
    yield


def test_what_a_generator_manager_changes_outside_is_changed_by_every_call():
    def f(x):
        with deeper():
            return x + 1

    STATE["depth"] = 0
    static = stator.to_static(f)
    for _ in range(3):
        static(torch.ones(1))
    assert STATE["depth"] == 3


class Swallowing:
    """Swallows a ValueError, and says what it saw."""

    def __init__(self):
        self.seen = []

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.seen.append(1 if kind is None else 2)
        return kind is not None and issubclass(kind, ValueError)


@contextlib.contextmanager
def catching(log):
    log.append(1)
    try:
        yield len(log)
    except ValueError:
        log.append(2)
    finally:
        log.append(3)


def test_an_exit_may_swallow_what_only_a_run_raises():
    def f(x):
        manager, y = Swallowing(), x
        with manager:
            y = x * 2
            if x.sum() > 5:
                raise ValueError
            if x.sum() < -5:
                raise KeyError("small")
            y = x * 3
        return y, manager.seen

    check(f, (torch.ones(1),), (torch.full((1,), 9.0),), (torch.full((1,), -9.0),))


def test_suppress_swallows_what_only_a_run_raises():
    def f(x):
        y = x
        with contextlib.suppress(ValueError, ZeroDivisionError):
            y = x * 2
            if x.sum() > 5:
                raise ValueError
            y = x * (1 / int(x.sum()))
        return y

    check(f, (torch.ones(1),), (torch.full((1,), 9.0),), (torch.zeros(1),))


def test_a_generator_manager_catches_what_the_body_raises():
    def f(x):
        log, y = [], x
        with catching(log) as n, Swallowing():
            y = x * n
            if x.sum() > 5:
                raise ValueError
            y = y + 1
        return y, log

    check(f, (torch.ones(1),), (torch.full((1,), 9.0),))
