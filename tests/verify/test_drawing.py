"""Drawing: inputs like an example, decided by the seed; dtypes and fixed sizes stay."""

import torch

from stator.api.example import Example
from stator_verify.drawing import drawn

EXAMPLE = Example(torch.ones(2, 3), torch.tensor([1, 2]), torch.tensor(True), 3, 1.5)


def some(example, seed=7, may_change=lambda *_: True, **options):
    return [*drawn(example, may_change, seed=seed, count=100, **options)]


def test_one_seed_gives_one_list_of_inputs_of_the_same_dtypes():
    first, second = (some(EXAMPLE, extremes=True) for _ in range(2))
    assert [one.how for one in first] == [one.how for one in second]
    assert len(first) > 40
    for one, same in zip(first, second):
        for a, b, start in zip(one.example.args, same.example.args, EXAMPLE.args):
            assert type(a) is type(start)
            if isinstance(a, torch.Tensor):
                assert a.dtype == start.dtype
                assert torch.equal(a.nan_to_num(), b.nan_to_num())


def test_another_seed_gives_others():
    assert [one.how for one in some(EXAMPLE)] != [one.how for one in some(EXAMPLE, seed=8)]


def test_fixed_sizes_stay():
    found = some(Example(torch.ones(2, 3)), may_change=lambda _, dim: dim == 0)
    shapes = {tuple(one.example.args[0].shape) for one in found}
    assert shapes == {(2, 3), (1, 3), (0, 3), (3, 3), (5, 3)}
    assert all(one.keeps_kinds == (one.example.args[0].shape[0] == 2) for one in found)


def test_tensors_of_one_size_change_it_together():
    found = some(Example(torch.ones(2, 3), torch.zeros(2)))
    assert {one.example.args[0].shape[0] == one.example.args[1].shape[0] for one in found} == {True}


def test_single_elements_change_where_that_is_asked_for():
    found = some(Example(torch.zeros(3)), may_change=lambda *_: False, single=True)
    assert any((one.example.args[0] != 0).sum() == 1 for one in found)


def test_extreme_values_do_not_count():
    found = some(Example(torch.ones(2)), extremes=True)
    extreme = [one for one in found if not one.example.args[0].isfinite().all()]
    assert extreme
    assert not any(one.counts for one in extreme)
    assert all(one.example.args[0].isfinite().all() for one in some(Example(torch.ones(2))))


def test_gradients_that_are_wanted_stay_wanted():
    found = some(Example(torch.ones(2, requires_grad=True)), single=True)
    assert all(one.example.args[0].requires_grad for one in found)


def test_an_example_without_anything_to_change_gives_nothing():
    assert some(Example("text", None)) == []
