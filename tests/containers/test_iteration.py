"""Iteration over what only a run can count."""

import pytest
import torch

from stator import InputSpec
from stator.containers.iteration import CapturedRange, enumerated, mapped, of_python, zipped
from stator.staging.operators import Staging
from stator.state.session import Session
from tests.capture.oracle import check

RECORDER = Session(Staging).recorder


@pytest.mark.parametrize("bounds", [(0, 5, 1), (2, 9, 3), (5, 0, -2), (3, 3, 1), (0, -1, 1)])
def test_a_captured_range_is_a_range(bounds):
    ours, python = CapturedRange(*bounds), range(*bounds)
    found, k = [], 0
    while ours.more(k):
        found.append(ours.item(k))
        k += 1
    assert found == list(python)


@pytest.mark.parametrize(
    "make", [lambda n: range(n), lambda n: range(2, n), lambda n: range(n, 0, -2),
             lambda n: range(0, 10, n) if n else range(0)],
)  # fmt: skip
def test_a_loop_over_a_captured_range(make):
    def f(x):
        total, last = 0, None
        for k in make(int(x)):
            total += k
            last = k
        return total, last

    check(f, *((torch.tensor(k),) for k in (3, 7, 1)))


def test_a_range_of_step_zero_raises():
    def f(x):
        total = 0
        for k in range(0, 5, int(x)):
            total += k
        return total

    check(f, (torch.tensor(2),), (torch.tensor(0),), (torch.tensor(-1),))


def test_zip_stops_at_the_shortest():
    rows = zipped([of_python(RECORDER, [1, 2, 3]), of_python(RECORDER, "ab")])
    assert [rows.item(k) for k in range(5) if rows.more(k)] == [(1, "a"), (2, "b")]


def test_enumerate_and_map_read_by_number():
    items = enumerated(mapped(str, of_python(RECORDER, [5, 6])), 1)
    assert [items.item(k) for k in range(items.length())] == [(1, "5"), (2, "6")]


def test_a_zero_dimensional_tensor_cannot_be_iterated():
    def f(x):
        for _ in x:
            pass

    check(f, (torch.tensor(1.0),))


def test_more_rows_than_are_unrolled_give_the_same():
    def f(x):
        total = 0.0
        for row in x:
            total = total * 0.5 + row
        return total

    check(f, (torch.arange(64.0),), (torch.arange(65.0),), spec=[InputSpec([None])])


def test_a_python_list_beside_a_captured_one_is_read_by_the_number_of_the_trip():
    def f(x):
        grown = []
        for k in range(int(x)):
            grown.append(k)
        return [(a, b) for a, b in zip(grown, [1.5, None, "c"], strict=False)]

    check(f, (torch.tensor(2),), (torch.tensor(0),), (torch.tensor(5),))
