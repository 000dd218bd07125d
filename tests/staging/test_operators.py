"""Staging: one method for each construct; those that have no file of their own."""

import torch

from stator import InputSpec
from tests.capture.oracle import check

X = torch.ones(3)


def test_augmented_assignment_is_in_place_where_eager_is():
    def f(x, items):
        y = x
        y += 1
        items += [x]
        n = 1
        n += x.sum().item()
        return x, items, n

    check(f, (X, [1]), (X * 2, [1]))


def test_a_tensor_is_unpacked_by_rows():
    def f(x):
        a, b, c = x
        first, *rest = x
        return a + b * c, first, rest

    check(f, (X,))


def test_the_wrong_number_of_rows_raises():
    def f(x):
        a, b = x
        return a + b

    check(f, (torch.ones(2),), (torch.ones(2) * 3,))
    check(f, (torch.ones(3),))


def test_a_tensor_of_unknown_length_is_unpacked_by_the_run():
    def f(x):
        a, b = x
        return a + b

    check(f, (torch.ones(2),), spec=[InputSpec([None])])


def test_assert_is_checked_by_every_run():
    def f(x):
        if not x.sum() > 0:
            raise AssertionError("negative")
        return x

    check(f, (X,), (-X,))


def test_walrus_and_ternary_bind_in_order():
    def f(x):
        if (n := x.sum().item()) > 0 and (m := n * 2) > 1:
            return n, m
        return n

    check(f, (X,), (-X,))


def test_try_with_an_error_of_python_runs_as_python():
    def f(x, table):
        try:
            k = table["k"]
        except KeyError:
            k = 5
        finally:
            x = x + 1
        return x * k

    check(f, (X, {"k": 2}), (X, {}))


def test_displays_and_spreads():
    check(lambda x: [*[x], *(x, x)], (X,))
    check(lambda x: {"a": x, "b": 1}, (X,))
    check(lambda x: {k: x * k for k in range(3)}, (X,))
