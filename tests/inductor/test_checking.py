"""agree: results within the tolerance of their dtype."""

import torch

from stator.inductor.checking import agree, same_strides, share_memory


def test_values_may_differ_by_rounding_only():
    x = torch.linspace(1, 2, 5)
    assert agree([x * (1 + 1e-5)], [x])
    assert not agree([x * (1 + 1e-2)], [x])
    assert agree([x.half() * (1 + 1e-3)], [x.half()])
    assert not agree([x.double() * (1 + 1e-6)], [x.double()])


def test_small_values_are_compared_with_the_largest():
    assert agree([torch.tensor([1e-7, 1.0])], [torch.tensor([0.0, 1.0])])
    assert not agree([torch.tensor([1e-7])], [torch.tensor([0.0])])


def test_values_that_are_not_finite_must_be_the_same():
    odd = torch.tensor([float("nan"), float("inf"), 1.0])
    assert agree([odd], [odd.clone()])
    assert not agree([odd], [torch.ones(3)])
    assert not agree([torch.ones(3)], [odd])


def test_what_is_not_rounded_must_be_equal():
    assert not agree([torch.tensor([True])], [torch.tensor([False])])
    assert not agree([torch.ones(2)], [torch.ones(3)])
    assert not agree([torch.ones(2)], [torch.ones(2).double()])
    assert not agree([torch.ones(2)], [None])
    assert agree([None], [None])
    assert not agree([], [None])


def test_strides_are_compared_where_they_matter():
    assert not same_strides([torch.ones(3, 2)], [torch.ones(2, 3).t()])
    assert same_strides([torch.ones(1, 3)], [torch.ones(3, 1).t()])


def test_shared_memory_is_seen():
    x, y = torch.ones(3), torch.ones(3)
    assert share_memory([x, x[1:]], [])
    assert share_memory([x], [x])
    assert not share_memory([x, y], [x + 1])
