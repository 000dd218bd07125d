"""Inputs: a call's arguments as symbolic values, in the structure they came in."""

import collections
import dataclasses

import pytest
import torch

import stator
from stator.capture.branches import apply_to_all, apply_variant
from stator.capture.inputs import InputReader, TensorSpec
from stator.capture.recorder import Recorder
from stator.errors import UnsupportedCall
from stator.program.structure import ConstantValue, Leaf, Sequence
from stator.values.staged import StagedList

Pair = collections.namedtuple("Pair", "a b")


@pytest.fixture
def reader():
    return InputReader(Recorder(apply_variant, apply_to_all))


def spec(*shape, name=None):
    return TensorSpec(shape, torch.float32, torch.device("cpu"), False, name)


def test_a_tensor_spec_becomes_a_tensor_and_a_leaf(reader):
    inputs = reader.read((spec(2, 3),), {})
    assert inputs.args[0].shape == (2, 3)
    assert inputs.structure.items[0] == Sequence("tuple", (Leaf(0),))


def test_a_size_of_none_is_symbolic(reader):
    inputs = reader.read((spec(None),), {})
    assert isinstance(inputs.args[0].shape[0], torch.SymInt)


def test_python_values_are_fixed(reader):
    inputs = reader.read((1, "a", None), {})
    assert inputs.structure.items[0].items == (
        ConstantValue(1),
        ConstantValue("a"),
        ConstantValue(None),
    )
    assert inputs.values == []


def test_containers_keep_their_types(reader):
    inputs = reader.read(([spec(1)], Pair(spec(1), 2)), {"k": {"d": spec(1)}})
    assert isinstance(inputs.args[0], StagedList)
    assert isinstance(inputs.args[1], Pair)
    assert list(inputs.kwargs["k"]) == ["d"]
    assert len(inputs.values) == 3


def test_names_are_those_of_the_spec_and_never_twice(reader):
    inputs = reader.read((spec(1, name="x"), spec(1, name="x"), spec(1)), {})
    assert [value.name for value in inputs.values] == ["x", "x_", "arg_2"]


def test_a_list_or_dict_argument_knows_its_path(reader):
    inputs = reader.read(([{"a": 1}],), {})
    assert [path for _, path in inputs.containers.values()] == [(0, 0, 0), (0, 0)]


def test_other_objects_are_the_callers_own(reader):
    own = object()
    inputs = reader.read((own,), {})
    assert inputs.args[0] is own
    assert inputs.objects == [own]


def test_sizes_of_one_name_are_one_symbol_and_checked(reader):
    named = ("batch", None)
    specs = [dataclasses.replace(spec(None, None, name=k), size_names=named) for k in "xy"]
    inputs = reader.read((*specs, spec(None)), {})
    x, y, z = (tensor.shape for tensor in inputs.args)
    assert x[0].node.expr == y[0].node.expr
    assert len({size.node.expr for size in (*x, y[1], *z)}) == 4
    *_, check = reader.recorder.scope.block.ops
    assert check.args[1] == "this needs x.shape[0] == y.shape[0]: both are `batch`"
    assert check.place is None


def test_a_name_that_is_used_once_needs_no_check(reader):
    reader.read((dataclasses.replace(spec(None), size_names=("batch",)),), {})
    assert reader.recorder.scope.block.ops == []


def test_an_attribute_that_the_caller_has_set_on_a_tensor_is_refused():
    x = torch.ones(2)
    x.scale = 3.0
    for function in (lambda x: x * x.scale, lambda x: x * getattr(x, "scale", 1.0)):
        with pytest.raises(UnsupportedCall) as caught:
            stator.to_static(function)(x)
        assert caught.value.problem == (
            "`.scale` is read, which the caller has set on a tensor that is an argument"
        )
        assert caught.value.fix == "pass it as an argument of its own"
    assert torch.equal(stator.to_static(lambda x: x * 2)(x), x * 2)
