"""`heapq`, `bisect` and `itertools` written out: they do what Python's own do, item by item."""

import bisect
import contextlib
import heapq
import itertools
import random

import pytest
import torch

from stator import StatorError
from stator.containers import standard_definitions as written
from tests.capture.oracle import check

NUMBERS = [[random.Random(seed).randrange(9) for _ in range(seed)] for seed in range(12)]


@pytest.mark.parametrize("numbers", NUMBERS)
def test_heaps_are_those_of_python(numbers):
    mine, theirs = [], []
    for number in numbers:
        written.heappush(mine, number)
        heapq.heappush(theirs, number)
        assert mine == theirs
    assert written.heappushpop(mine, 4) == heapq.heappushpop(theirs, 4)
    if numbers:
        assert written.heapreplace(mine, 5) == heapq.heapreplace(theirs, 5)
    while theirs:
        assert written.heappop(mine) == heapq.heappop(theirs)
        assert mine == theirs
    one, other = list(numbers), list(numbers)
    written.heapify(one)
    heapq.heapify(other)
    assert one == other
    for n in (-1, 0, 2, 100):
        assert written.nlargest(n, numbers) == heapq.nlargest(n, numbers)
        assert written.nsmallest(n, numbers) == heapq.nsmallest(n, numbers)


@pytest.mark.parametrize("function", [written.heappop, heapq.heappop])
def test_a_heap_without_items_raises(function):
    with pytest.raises(IndexError, match="index out of range"):
        function([])


@pytest.mark.parametrize("numbers", NUMBERS)
def test_places_in_a_sorted_list_are_those_of_python(numbers):
    ordered = sorted(numbers)
    for number in range(-1, 10):
        assert written.bisect_left(ordered, number) == bisect.bisect_left(ordered, number)
        assert written.bisect_right(ordered, number) == bisect.bisect_right(ordered, number)
        one, other = list(ordered), list(ordered)
        written.insort_left(one, number)
        written.insort_right(one, number)
        bisect.insort(other, number)
        bisect.insort(other, number)
        assert one == other


@pytest.mark.parametrize("numbers", NUMBERS)
def test_iterators_give_what_those_of_python_give(numbers):
    def small(number):
        return number < 5

    assert [*written.accumulate(numbers)] == [*itertools.accumulate(numbers)]
    assert [*written.accumulate(numbers, max, initial=3)] == [
        *itertools.accumulate(numbers, max, initial=3)
    ]
    assert [*written.takewhile(small, numbers)] == [*itertools.takewhile(small, numbers)]
    assert [*written.dropwhile(small, numbers)] == [*itertools.dropwhile(small, numbers)]
    assert [*written.pairwise(numbers)] == [*itertools.pairwise(numbers)]
    assert [(key, [*group]) for key, group in written.groupby(numbers, small)] == [
        (key, [*group]) for key, group in itertools.groupby(numbers, small)
    ]


def test_a_group_that_is_kept_is_refused_or_spent():
    """In eager code a group is spent when the next one is asked for."""

    def f(x):
        groups = [group for _, group in itertools.groupby(x.tolist())]
        return [list(group) for group in groups]

    with contextlib.suppress(StatorError):
        check(f, (torch.tensor([1, 1, 2]),), (torch.tensor([3, 3, 3]),))
