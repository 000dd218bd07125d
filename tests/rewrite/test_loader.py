"""A converted function stands in for the original: same globals, cells, signature and lines."""

from __future__ import annotations

import ast
import bdb
import inspect
import sys
import traceback

import pytest

from stator.rewrite.convert import convert
from stator.rewrite.loader import compile_tree, load
from tests.rewrite.classes import Child
from tests.rewrite.plain_staging import PlainStaging

STEP = 1


def converted(function):
    return convert(function, PlainStaging()).function


def countdown(n: int, floor: int = 0, *, step: int = 1) -> int:
    """Counts down."""
    total = 0
    while n > floor:
        total = total + n
        n = n - STEP * step
    return total


def test_a_converted_function_sees_a_global_rebound_later(monkeypatch):
    new = converted(countdown)
    monkeypatch.setitem(globals(), "STEP", 2)
    assert new(5) == countdown(5) == 9


def test_a_node_that_a_pass_has_made_without_a_place_gets_one():
    (tree,) = ast.parse("def f(x):\n    return x\n").body
    tree.body[0].value = ast.BinOp(tree.body[0].value, ast.Add(), ast.Constant(1))
    code = compile_tree(tree, countdown.__code__)
    assert load(code, countdown, PlainStaging())(2) == 3


def test_a_converted_function_shares_its_closure_cells():
    step = 1

    def f(n):
        nonlocal step
        total = 0
        while n > 0:
            total = total + n
            n = n - step
        step = step + 1
        return total

    new = converted(f)
    step = 2
    assert new(5) == 9
    assert step == 3


def test_signature_defaults_and_names_are_those_of_the_original():
    countdown.mark = "kept"
    new = converted(countdown)
    assert inspect.signature(new) == inspect.signature(countdown)
    assert (new.__name__, new.__qualname__) == (countdown.__name__, countdown.__qualname__)
    assert (new.__doc__, new.__module__) == (countdown.__doc__, countdown.__module__)
    assert new.mark == "kept"
    assert new(5, step=2) == countdown(5, step=2)
    assert new(5, 3) == countdown(5, 3)


def test_two_closures_of_one_def_share_their_code():
    def make(k):
        def f(x):
            return x + k if x else k

        return f

    one, two = converted(make(1)), converted(make(2))
    assert one.__code__ is two.__code__
    assert (one(1), two(1)) == (2, 3)


def test_a_traceback_shows_the_users_own_line_and_function():
    def f(n):
        while n > 0:
            if n == 2:
                n = n / 0
            n = n - 1
        return n

    with pytest.raises(ZeroDivisionError) as caught:
        converted(f)(3)
    own = [frame for frame in traceback.extract_tb(caught.tb) if frame.filename == __file__]
    assert own[-1].line == "n = n / 0"
    assert {frame.name for frame in own[1:]} == {"f"}


def test_a_condition_that_fails_is_reported_at_its_own_line():
    def f(n):
        total = 0
        for i in range(3):
            total += i
            if total > 1 and n / 0:
                return total
        return n

    with pytest.raises(ZeroDivisionError) as caught:
        converted(f)(3)
    own = [frame for frame in traceback.extract_tb(caught.tb) if frame.filename == __file__]
    assert own[-1].line == "if total > 1 and n / 0:"


class Breaks(bdb.Bdb):
    def __init__(self):
        super().__init__()
        self.stops = []

    def user_line(self, frame):
        if self.break_here(frame):
            self.stops.append((frame.f_lineno, frame.f_code.co_name))
        self.set_continue()


def test_a_breakpoint_by_file_and_line_stops_inside_a_rewritten_loop():
    new = converted(countdown)
    line = countdown.__code__.co_firstlineno + 4
    debugger, outer = Breaks(), sys.gettrace()
    debugger.set_break(__file__, line)
    try:
        debugger.runcall(new, 3)
    finally:
        debugger.clear_all_breaks()
        sys.settrace(outer)
    assert debugger.stops == [(line, "countdown")] * 3


def test_methods_with_super_private_names_and_class_cells():
    for name, calls in {
        "value": [(1,), (-1,)], "chained": [([1, 0, 2],)], "private": [(3,)],
    }.items():  # fmt: skip
        original = vars(Child)[name]
        for arguments in calls:
            assert converted(original)(Child(5), *arguments) == original(Child(5), *arguments)


def test_properties_class_methods_and_static_methods():
    shown = converted(Child.shown.fget)
    assert (shown(Child(5)), shown(Child(0))) == (5, "nothing")
    made = converted(vars(Child)["made"].__func__)
    assert (made(Child, 1), made(Child, 0)) == (("Child", 1), None)
    plain = converted(Child.plain)
    assert (plain(3), plain(0, y=7)) == (6, 7)


def test_decorators_are_not_applied_again():
    original = vars(Child)["decorated"].__wrapped__
    assert converted(original)(Child(1), 4) == 4
    assert converted(original)(Child(1), 0) == "child"


def test_a_function_nested_in_a_converted_one_is_found_in_the_users_file():
    def outer(k):
        if k:

            def inner(x):
                return [x + k, lambda y: y * k if y else 1]
        else:
            inner = None
        return inner

    inner = converted(outer)(3)
    first, second = converted(inner)(1)
    assert first == 4
    assert (converted(second)(2), converted(second)(0)) == (6, 1)


def test_a_closure_over_a_name_that_was_never_bound_says_so():
    def outer(k):
        def inner():
            return late

        if k:
            late = 1
        return inner

    assert converted(converted(outer)(1))() == 1
    with pytest.raises(NameError, match="late"):
        converted(converted(outer)(0))()


def test_lambdas_on_one_line_are_told_apart():
    one, two = (lambda x: x + 1 if x else 0), (lambda x: x + 2 if x else 0)
    deep = lambda x: lambda y: x + y  # noqa: E731  # a lambda in a lambda is what is tested
    assert (converted(one)(1), converted(two)(1)) == (2, 3)
    assert converted(converted(deep)(1))(2) == 3
    assert converted(one).__name__ == "<lambda>"


def test_a_converted_function_can_be_converted_again():
    again = convert(converted(countdown), PlainStaging())
    assert again.function(4) == countdown(4)


def test_recursion_goes_through_the_global_name():
    new = converted(factorial)
    assert new(5) == 120


def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)
