"""enable_to_static, not_to_static, ignore_module."""

import types

import pytest
import torch

import stator
from stator.api.switches import is_enabled
from stator.errors import DataDependent
from stator.library import markers


@pytest.fixture(autouse=True)
def switches_put_back(monkeypatch):
    monkeypatch.setattr(markers, "_ignored_modules", set())
    yield
    stator.enable_to_static(True)


def test_conversion_is_on_by_default():
    assert is_enabled()


def test_switched_off_a_static_function_runs_as_it_was_written():
    seen = []

    @stator.to_static
    def f(x):
        seen.append(type(x))
        return x + 1

    stator.enable_to_static(False)
    assert f(torch.ones(1)).item() == 2
    assert seen == [torch.Tensor]
    assert f.concrete_programs == ()


def test_switched_on_again_it_is_captured():
    @stator.to_static
    def f(x):
        return x + 1

    stator.enable_to_static(False)
    f(torch.ones(1))
    stator.enable_to_static(True)
    f(torch.ones(1))
    assert len(f.concrete_programs) == 1


def test_the_ops_of_a_function_left_alone_are_recorded():
    @stator.not_to_static
    def inner(x):
        return x * 2

    static = stator.to_static(lambda x: inner(x) + 1)
    assert [static(torch.full((1,), k)).item() for k in (1.0, 2.0)] == [3, 5]


def test_control_flow_of_a_function_left_alone_is_not_converted():
    @stator.not_to_static
    def inner(x):
        return x * 2 if x.sum() > 0 else x

    with pytest.raises(DataDependent):
        stator.to_static(lambda x: inner(x) + 1)(torch.ones(1))


def test_a_method_can_be_left_alone():
    class Box:
        @stator.not_to_static
        def inner(self, x):
            return x * 2 if x.sum() > 0 else x

    with pytest.raises(DataDependent):
        stator.to_static(lambda x: Box().inner(x))(torch.ones(1))


def test_the_decorator_can_be_written_with_parentheses():
    @stator.not_to_static()
    def inner(x):
        return x + 1

    assert inner(1) == 2


def test_a_function_left_alone_is_called_as_before_outside():
    @stator.not_to_static
    def inner(x):
        return x * 2 if x.sum() > 0 else x

    assert inner(torch.ones(1)).item() == 2


def test_functions_of_an_ignored_module_are_not_converted():
    def inner(x):
        return x * 2 if x.sum() > 0 else x

    inner.__module__ = "somewhere.deep"
    static = stator.to_static(lambda x: inner(x))
    stator.ignore_module([types.ModuleType("somewhere")])
    with pytest.raises(DataDependent):
        static(torch.ones(1))


def test_a_module_whose_name_only_begins_alike_is_not_ignored():
    def inner(x):
        return x * 2 if x.sum() > 0 else x

    inner.__module__ = "somewhere_else"
    stator.ignore_module([types.ModuleType("somewhere")])
    assert stator.to_static(lambda x: inner(x))(torch.ones(1)).item() == 2
