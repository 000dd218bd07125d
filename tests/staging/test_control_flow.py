"""if_stmt, while_stmt, for_stmt: Python where the test is known, recorded where it is not."""

import torch

from tests.capture.oracle import check

X = torch.ones(2)


def recorded(static):
    return [op.name for op in static.program.body.ops if op.blocks]


def test_a_python_condition_takes_one_side():
    static = check(lambda x, k: x + 1 if k else x - 1, (X, True))
    assert recorded(static) == []


def test_a_captured_condition_is_recorded():
    static = check(lambda x: x + 1 if x.sum() > 0 else x - 1, (X,), (-X,))
    assert recorded(static) == ["stator::if"]


def test_a_python_loop_is_unrolled():
    def f(x):
        for k in range(3):
            x = x + k
        n = 0
        while n < 3:
            n += 1
            x = x * n
        return x

    assert recorded(check(f, (X,))) == []


def test_a_loop_that_becomes_captured_is_recorded_from_there():
    def f(x):
        n = 0
        while n < 2 or x.sum() < 50:
            x = x * 2
            n += 1
        return x, n

    assert recorded(check(f, (X,), (X * 30,))) == ["stator::while"]


def test_a_python_loop_with_a_captured_break_stops_there():
    def f(x):
        for k in range(10):  # noqa: B007  # read after the loop
            if x.sum() > 20:
                break
            x = x * 2
        return x, k

    check(f, (X,), (X * 30,))


def test_a_python_list_with_a_captured_break_stops_there():
    def f(x):
        for name in ["a", "b", "c"]:  # noqa: B007  # read after the loop
            if x.sum() > 5:
                break
            x = x * 2
        return x, name

    check(f, (X,), (X * 30,), (-X,))


def test_a_loop_over_one_of_two_lists():
    def f(x):
        items = [1, 2] if x.sum() > 0 else [3]
        total = 0
        for k in items:
            total += k
        return total

    check(f, (X,), (-X,))


def test_while_true_with_a_captured_break():
    def f(x):
        while True:
            x = x * 2
            if x.sum() > 10:
                break
        return x

    check(f, (X,), (X * 30,))


def test_return_from_inside_a_captured_loop():
    def f(x):
        for k in range(int(x.sum())):
            if k == 1:
                return "early", k
        return "late", -1

    check(f, (X,), (X * 0,), (X * 0.5,))
