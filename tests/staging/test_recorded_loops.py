"""Loops that Python runs, where eager code may not come."""

from __future__ import annotations

import itertools

import pytest
import torch

import stator

NUMBERS = itertools.count(1)


def test_an_endless_loop_in_a_branch_is_refused():
    def endless(x):
        count = 0
        if x.sum() > 0:
            while count < 3:
                x.numel()
        return x

    with pytest.raises(stator.StatorError) as caught:
        stator.to_static(endless)(torch.ones(2))
    assert caught.value.problem == (
        "this loop has not ended after 10000 iterations, and whether it runs at all depends on "
        "the data"
    )


def test_one_that_records_something_each_time_is_refused_earlier():
    def endless(x):
        count = 0
        if x.sum() > 0:
            while count < 3:
                x = x + 1
        return x

    with pytest.raises(stator.StatorError, match="has not ended after 1000 iterations"):
        stator.to_static(endless)(torch.ones(2))


def test_one_over_an_iterator_without_an_end_is_refused_even_earlier():
    def endless(x):
        if x.sum() > 0:
            for number in NUMBERS:
                x = x + number
        return x

    with pytest.raises(stator.StatorError, match="has not ended after 100 iterations"):
        stator.to_static(endless)(torch.ones(2))


def test_a_long_loop_in_a_branch_is_no_endless_one():
    def long(x):
        count = 0
        if x.sum() > 0:
            while count < 9000:
                count += 1
        return count

    assert stator.to_static(long)(torch.ones(2)) == 9000
