"""SourceFunction: the user's callable, as it is now."""

import functools

import pytest
import torch

from stator.api.source_function import SourceFunction, parameter_names
from stator.errors import SourceUnavailable


class Model(torch.nn.Module):
    def forward(self, x):
        return x


def test_a_method_follows_the_class_of_its_object():
    class Other(Model):
        def forward(self, x):
            return x + 1

    model = Model()
    source = SourceFunction(model.forward, "forward")
    assert source.current()(1) == 1
    model.__class__ = Other
    assert source.current()(1) == 2


def test_the_owner_of_a_method_is_its_module():
    model = Model()
    assert SourceFunction(model.forward, "forward").owner is model
    assert SourceFunction(model, "Model").owner is model
    assert SourceFunction(len, "len").owner is None


def test_positional_parameters_have_names():
    assert parameter_names(lambda a, /, b, *c, d, **e: a) == ["a", "b"]
    assert SourceFunction(Model(), "Model").parameter_names() == ["x"]


def test_a_callable_without_python_source_says_so():
    with pytest.raises(SourceUnavailable) as caught:
        SourceFunction(functools.partial(len), "partial").python()
    assert caught.value.problem == "partial is a partial, which has no Python source"
