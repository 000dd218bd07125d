"""Shrinking: the input that is left still fails, and nothing plainer does."""

import torch

from stator.api.example import Example
from stator_verify.shrinking import shrunk


def test_numbers_that_do_not_matter_become_zero():
    start = Example(torch.tensor([3.7, -8.2, 5.5, 1.1]))
    small = shrunk(start, lambda one: bool(one.args[0][2] > 5), lambda *_: False, 60)
    assert small.args[0].tolist() == [0.0, 0.0, 6.0, 0.0]


def test_sizes_that_may_change_become_small():
    start = Example(torch.ones(8, 3))
    small = shrunk(start, lambda one: one.args[0].shape[0] >= 2, lambda _, dim: dim == 0, 60)
    assert small.args[0].shape == (2, 3)


def test_what_fails_no_more_is_not_taken():
    start = Example(torch.ones(2), 5)
    assert shrunk(start, lambda one: False, lambda *_: True, 60) is start
