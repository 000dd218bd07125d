"""RegionLayout: which calls one compiled region serves."""

import torch

from stator.inductor.layouts import DynamicSize, StrideAfter, layout_of
from stator.program.sizes import AnySize, Symbol
from stator.program.types import TensorType

N = Symbol("n")


def one(shape, tensor, **options):
    options.setdefault("gradients", True)
    return layout_of([TensorType("float32", shape)], [tensor], [], **options)


def sizes(layout, *tensors, gradients=True):
    return layout.dynamic_sizes(tensors, [], gradients=gradients)


def test_a_size_of_the_program_is_fixed_and_others_are_dynamic():
    layout = one((N, 3), torch.ones(5, 3))
    assert layout.tensors[0].sizes == (DynamicSize(0), 3)
    assert layout.tensors[0].strides == (StrideAfter(1), 1)
    assert sizes(layout, torch.ones(7, 3)) == [7]
    assert sizes(layout, torch.ones(7, 4)) is None
    assert sizes(layout, torch.ones(7)) is None
    assert sizes(layout, torch.ones(3, 7).t()) is None


def test_a_size_that_is_one_is_fixed():
    layout = one((N, 3), torch.ones(1, 3))
    assert layout.tensors[0].sizes == (1, 3)
    assert sizes(layout, torch.ones(2, 3)) is None


def test_equal_sizes_of_the_program_are_one_and_unknown_ones_are_not():
    square = one((N, N), torch.ones(4, 4))
    assert square.tensors[0].sizes == (DynamicSize(0), DynamicSize(0))
    assert sizes(square, torch.ones(4, 5)) is None
    some = one((AnySize(), AnySize()), torch.ones(4, 4))
    assert sizes(some, torch.ones(4, 5)) == [4, 5]


def test_dense_memory_in_another_order_has_strides_that_follow():
    layout = one((N, 3), torch.ones(3, 5).t())
    assert layout.tensors[0].strides == (1, StrideAfter(0))
    assert sizes(layout, torch.ones(3, 8).t()) == [8]


def test_other_strides_are_dynamic_where_sizes_are_and_fixed_where_they_are_not():
    layout = one((N, 3), torch.ones(5, 9)[:, :3])
    assert layout.tensors[0].strides == (DynamicSize(1), 1)
    assert sizes(layout, torch.ones(6, 10)[:, :3]) == [6, 10]
    fixed = one((5, 3), torch.ones(5, 9)[:, :3])
    assert fixed.tensors[0].strides == (9, 1)
    assert sizes(fixed, torch.ones(5, 10)[:, :3]) is None


def test_an_expanded_dimension_has_stride_zero():
    layout = one((N, 3), torch.ones(3).expand(5, 3))
    assert layout.tensors[0].strides == (0, 1)
    assert sizes(layout, torch.ones(6, 3)) is None


def test_gradients_and_dtypes_are_relied_on():
    layout = one((3,), torch.ones(3, requires_grad=True))
    assert layout.requires_grad
    assert sizes(layout, torch.ones(3)) is None
    assert sizes(layout, torch.ones(3, requires_grad=True)) == []
    assert sizes(layout, torch.ones(3, requires_grad=True), gradients=False) is None
    assert sizes(one((3,), torch.ones(3)), torch.ones(3, dtype=torch.float64)) is None


def test_integers_below_two_are_fixed():
    layout = layout_of([], [], [-1, 0, 5], gradients=False)
    assert layout.numbers == (-1, 0, DynamicSize(0))
    assert layout.dynamic_sizes([], [-1, 0, 9], gradients=False) == [9]
    assert layout.dynamic_sizes([], [-1, 1, 9], gradients=False) is None


def test_layouts_that_differ_in_examples_alone_are_equal():
    assert one((N,), torch.ones(5)) == one((N,), torch.ones(6))
