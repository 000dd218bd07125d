"""Recursion whose depth only a run knows."""

import sys

import pytest
import torch

import stator
from stator.errors import StatorError, UnsupportedCall
from tests.capture.oracle import check, refusal

CALLS = tuple((torch.tensor(float(k)),) for k in (1, 5, 40, 0))


def halved(x):
    return x if x < 1 else halved(x / 2) + 1


def down(x):
    return x if x < 1 else up(x - 3)


def up(x):
    return x if x < 1 else down(x + 1) * 2


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def test_a_function_that_calls_itself_once():
    check(halved, *CALLS)


def test_two_functions_that_call_each_other():
    check(down, *CALLS)


def test_a_tree_of_calls():
    check(fib, *((torch.tensor(k),) for k in (1, 2, 7, 0)))


def test_recursion_on_a_python_number_is_unrolled():
    def power(x, n):
        return x if n == 0 else power(x, n - 1) * 2

    static = check(power, (torch.ones(1), 5))
    assert not static.program.functions


def test_recursion_over_a_captured_int():
    def total(n):
        return 0 if n <= 0 else n + total(n - 1)

    check(lambda x: total(int(x)), *((torch.tensor(k),) for k in (3, 10, 0)))


def test_a_nested_function_that_calls_itself():
    def f(x):
        def go(y, depth):
            return (y, depth) if y < 1 else go(y / 2, depth + 1)

        return go(x, 0)

    check(f, *CALLS)


def test_gradients_flow_through_recursion():
    static = stator.to_static(halved)
    for value in (0.5, 5.0):
        x, y = (torch.tensor(value, requires_grad=True) for _ in range(2))
        halved(x).backward()
        static(y).backward()
        assert torch.equal(x.grad, y.grad)


def test_recursion_deeper_than_python_allows_raises_recursion_error():
    def count(n):
        return n if n <= 0 else count(n - 1)

    static = stator.to_static(count)
    assert static(torch.tensor(5)).item() == 0
    with pytest.raises(RecursionError):
        static(torch.tensor(100_000))


def test_recursion_is_as_deep_as_in_eager_code():
    def count(n):
        return n if n <= 0 else count(n - 1) + 1

    deep = torch.tensor(sys.getrecursionlimit() - 150)  # pytest has frames of its own
    assert torch.equal(count(deep), deep)
    assert torch.equal(stator.to_static(count)(deep), deep)


def test_calls_are_nested_as_deeply_as_in_eager_code():
    def count(x, n):
        return x if n == 0 else count(x, n - 1) + 1

    deep = sys.getrecursionlimit() - 150
    x = torch.zeros(1)
    assert torch.equal(stator.to_static(lambda x: count(x, deep))(x), count(x, deep))


def test_the_limit_of_the_process_is_put_back():
    before = sys.getrecursionlimit()
    stator.to_static(lambda x: x + 1)(torch.zeros(1))
    assert sys.getrecursionlimit() == before


def test_recursion_without_an_end_is_refused_or_overflows():
    def forever(x):
        return forever(x + 1)

    with pytest.raises((RecursionError, StatorError)):
        stator.to_static(forever)(torch.ones(1))


def test_recursion_that_changes_an_outer_object():
    seen = []

    def walk(x):
        seen.append(x)
        return x if x < 1 else walk(x / 2)

    static = stator.to_static(walk)
    assert static(torch.tensor(4.0)).item() == 0.5
    assert [one.item() for one in seen] == [4.0, 2.0, 1.0, 0.5]


def test_a_change_that_an_error_would_lose_is_refused():
    seen = []

    def walk(x):
        seen.append(x)
        if x > 30:
            raise ValueError("too far")
        return x if x < 1 else walk(x / 2)

    error = refusal(UnsupportedCall, walk, torch.tensor(4.0))
    assert error.fix == "pass the value as an argument and return the new one"
    assert error.problem.endswith("changes an object that is not its own, and may raise")
    assert seen == []


def test_a_function_is_captured_once_for_calls_that_find_the_same():
    def total(n):
        return 0 if n <= 0 else n + total(n - 1)

    static = check(lambda x: total(int(x)) + total(int(x) + 1), (torch.tensor(3),))
    assert len(static.program.functions) == 1


def test_what_an_overflow_leaves_behind_is_refused(monkeypatch):
    monkeypatch.setattr("stator.library.recursion.users_limit", lambda: 20)
    seen = []

    def count(n):
        seen.append(n)
        return count(n + 1)

    with pytest.raises(StatorError) as caught:
        stator.to_static(lambda x: x * count(0))(torch.ones(1))
    assert caught.value.problem == (
        "a function calls itself more often than Python's limit allows, and what it does "
        "before the RecursionError depends on how many frames there were before it"
    )
    assert caught.value.at is not None
    assert seen == []


def test_an_overflow_of_which_nothing_is_seen_is_python_s_own(monkeypatch):
    monkeypatch.setattr("stator.library.recursion.users_limit", lambda: 20)

    def count(n):
        return count(n + 1)

    with pytest.raises(RecursionError):
        stator.to_static(lambda x: x * count(0))(torch.ones(1))


def test_a_run_that_overflows_is_refused_where_it_has_changed_something():
    state = {"calls": 0}

    def count(x):
        state["calls"] += 1
        return count(x) if x > 0 else x

    static = stator.to_static(lambda x: count(x))
    assert static(torch.tensor(-1.0)) == -1.0
    with pytest.raises(StatorError) as caught:
        static(torch.tensor(1.0))
    assert caught.value.problem.endswith(
        "times deep, and what it has done by then depends on the frames before it"
    )
    assert caught.value.at is not None
    assert state["calls"] == 1
