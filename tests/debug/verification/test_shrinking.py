"""Shrinking: the input that is left still fails, and nothing plainer does."""

import torch

from stator.debug.verification.examples import Example
from stator.debug.verification.mutations import mutations
from stator.debug.verification.shrinking import shrunk


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


def test_mutations_are_the_same_for_the_same_seed_and_keep_dtypes():
    example = Example(torch.ones(2, 3), torch.tensor([1, 2]), torch.tensor(True), 3, 1.5)
    first, second = ([*mutations(example, 7, lambda *_: True, extremes=True)] for _ in range(2))
    assert [one.how for one in first] == [one.how for one in second]
    assert len(first) > 40
    for one, same in zip(first, second):
        for a, b, start in zip(one.example.args, same.example.args, example.args):
            assert type(a) is type(start)
            if isinstance(a, torch.Tensor):
                assert a.dtype == start.dtype
                assert torch.equal(a.nan_to_num(), b.nan_to_num())


def test_fixed_sizes_stay():
    made = mutations(Example(torch.ones(2, 3)), 0, lambda _, dim: dim == 0, extremes=False)
    shapes = {tuple(one.example.args[0].shape) for one in made}
    assert shapes == {(2, 3), (1, 3), (0, 3), (3, 3)}
