"""An op that fails while it is captured raises what it raises in eager PyTorch."""

from __future__ import annotations

import pytest
import torch

import stator
from stator.capture.errors import eager_errors


def stacked(x):
    return torch.stack([])


def joined(x):
    return torch.cat([])


def shapes_that_do_not_fit(x):
    return x + torch.ones(4)


def product_of_vectors(x):
    return torch.mm(x, x)


def a_dimension_too_many(x):
    return x.sum(3)


def caught_by_its_class(x):
    try:
        return torch.stack([])
    except RuntimeError:
        return x + 1


FAILING = [stacked, joined, shapes_that_do_not_fit, product_of_vectors, a_dimension_too_many]


@pytest.mark.parametrize("function", FAILING, ids=lambda function: function.__name__)
def test_an_op_that_fails_raises_the_class_and_the_text_of_eager(function):
    with pytest.raises(Exception) as eager:  # noqa: PT011  # whatever eager raises is the answer
        function(torch.ones(3))
    with pytest.raises(type(eager.value)) as static:
        stator.to_static(function)(torch.ones(3))
    assert type(static.value) is type(eager.value)
    assert str(static.value) == str(eager.value)


def test_the_handler_that_eager_takes_is_taken():
    static = stator.to_static(caught_by_its_class)
    assert static(torch.ones(3)).tolist() == [2, 2, 2]


def test_no_large_tensor_is_made_for_a_message(monkeypatch):
    monkeypatch.setattr(eager_errors, "LARGEST", 2)
    assert (
        eager_errors.eager_error(torch.ops.aten.mm.default, (torch.ones(3), torch.ones(3)), {})
        is None
    )


def test_an_op_that_works_on_zeros_has_no_error_to_tell():
    assert eager_errors.eager_error(torch.ops.aten.neg.default, (torch.ones(3),), {}) is None
