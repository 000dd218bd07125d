"""Operators between arrays of numpy and tensors."""

from __future__ import annotations

import operator

import numpy
import pytest
import torch

import stator
from stator.errors import UnsupportedCall
from tests.zoo.comparison import compare

# torch's part in numpy's operators is deprecated by numpy
pytestmark = pytest.mark.filterwarnings("ignore:__array_wrap__:DeprecationWarning")
X = torch.tensor([0.5, 1.0, 2.0])
SIGNS = (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.lt)


@pytest.mark.parametrize("sign", SIGNS)
def test_a_number_of_numpys_is_a_number_on_both_sides(sign):
    def f(x):
        number = numpy.sqrt(x.numpy())[2]
        return sign(number, x), sign(x, number), sign(x.sum(), number)

    assert compare(f(X.clone()), stator.to_static(f)(X.clone())) is None


def test_an_array_of_the_same_dtype_after_a_tensor_gives_a_tensor():
    def f(x):
        return x * (x.numpy() + 1)

    assert compare(f(X.clone()), stator.to_static(f)(X.clone())) is None


@pytest.mark.parametrize(
    "code", [lambda x: x.numpy() * x, lambda x: x * x.numpy().astype("float64"),
             lambda x: x * x.numpy().astype("float64")[0]],
)  # fmt: skip
def test_what_depends_on_more_than_the_capture_knows_is_refused(code):
    with pytest.raises(UnsupportedCall) as caught:
        stator.to_static(code)(X.clone())
    assert caught.value.problem == (
        "an operator combines a tensor with a numpy array of another dtype or on its left"
    )
