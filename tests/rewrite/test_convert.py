"""A converted function means what the original meant."""

from __future__ import annotations

import contextlib
import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from stator.rewrite.convert import PASSES, convert
from tests.rewrite.plain_staging import PlainStaging
from tests.rewrite.random_programs import random_function
from tests.rewrite.speculative_staging import SpeculativeStaging
from tests.rewrite.zoo import ZOO

CALLS = [(function, call) for function, calls in ZOO for call in calls]


def outcome(function, arguments):
    """What a call gives, or the exception it ends with."""
    try:
        return function(*copy.deepcopy(arguments))
    except Exception as error:  # noqa: BLE001  # whatever the original raises is the answer
        kind = NameError if isinstance(error, NameError) else type(error)
        cause = type(error.__cause__).__name__
        return kind, () if kind is NameError else error.args, cause


@pytest.mark.parametrize(
    ("function", "arguments"), CALLS, ids=[f"{f.__name__}{call}" for f, call in CALLS]
)
def test_a_converted_function_agrees_with_the_original(function, arguments):
    around = function.__globals__
    around["COUNTER"] = 0
    expected = outcome(function, arguments), around["COUNTER"]
    around["COUNTER"] = 0
    got = outcome(convert(function, PlainStaging()).function, arguments), around["COUNTER"]
    assert got == expected


def run(function, a, b):
    log = []
    try:
        result = function(a, b, log)
    except (NameError, TypeError) as error:
        return NameError if isinstance(error, NameError) else TypeError, log
    seen = [type(item) if isinstance(item, NameError) else item for item in [result, *log]]
    return [NameError if item is UnboundLocalError else item for item in seen]


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(some.integers(0, 10**9), some.integers(0, 3), some.integers(0, 3))
def test_random_control_flow_agrees_with_the_original(seed, a, b):
    around = {"nullcontext": contextlib.nullcontext, "suppress": contextlib.suppress}
    function, text = random_function(seed, effects=True, **around)
    new = convert(function, PlainStaging()).function
    assert run(new, a, b) == run(function, a, b), text


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(some.integers(0, 10**9), some.integers(0, 3), some.integers(0, 3))
def test_the_state_of_a_statement_holds_all_that_it_changes(seed, a, b):
    function, text = random_function(seed, effects=False)
    new = convert(function, SpeculativeStaging()).function
    assert run(new, a, b) == run(function, a, b), text


def test_what_a_function_does_to_its_surroundings_is_listed():
    count, seen = 0, []

    def f(x):
        global WRITTEN  # what is tested
        WRITTEN = len(seen)

        def inner():
            nonlocal count
            count += OFFSET

        inner()
        return [x for _ in range(WRITTEN)]

    new = convert(f, PlainStaging())
    assert new.nonlocals == ("count",)
    assert new.globals_written == ("WRITTEN",)
    assert new.free_reads == ("count", "seen")
    assert new.global_reads == ("OFFSET", "WRITTEN", "len", "range")
    assert not new.is_generator
    assert count == 0


OFFSET = 1


def test_a_generator_function_gives_its_items_to_a_consumer():
    def numbers(n):
        for i in range(n):
            if i % 2:
                yield i
        yield from "ab"

    new, items = convert(numbers, PlainStaging()), []
    assert new.is_generator
    new.function(items.append, 6)
    assert items == [1, 3, 5, "a", "b"]


def test_a_generator_stops_when_its_consumer_wants_no_more():
    def numbers():
        n = 0
        while True:
            yield n
            n += 1

    items = []
    convert(numbers, PlainStaging()).function(lambda item: items.append(item) or item == 3)
    assert items == [0, 1, 2, 3]


def test_the_rewritten_text_is_the_same_every_time():
    function = ZOO[0][0]
    copied = type(function)(function.__code__.replace(), function.__globals__)
    assert convert(function, PlainStaging()).code == convert(copied, PlainStaging()).code


def test_passes_have_names_of_their_own():
    names = [step.name for step in PASSES]
    assert len(names) == len(set(names))
    assert names[0] == "sets"
    assert names[-1] == "control"


def counted(n, m, k, j, x):
    while x:
        n += 1
        m = m - 2
        k += 1
        if m:
            k = 0
        if n:
            j += 1
        x = x + n


def test_a_loop_tells_of_names_that_every_iteration_adds_to():
    text = convert(counted, PlainStaging()).code
    assert text.count("{'n': 1, 'm': -2})") == 1
