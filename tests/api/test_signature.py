"""Signatures tell calls apart; specs fit values, or say where they do not."""

import collections

import pytest
import torch

from stator import InputSpec
from stator.api.signature import fit, signature_of, specs_from, specs_of
from stator.capture.inputs import TensorSpec
from stator.errors import SpecMismatch

Pair = collections.namedtuple("Pair", "a b")
CPU = torch.device("cpu")


def key(*args, **kwargs):
    return signature_of(args, kwargs).key


def test_sizes_are_not_part_of_the_key():
    assert key(torch.ones(2)) == key(torch.ones(3))
    assert signature_of((torch.ones(2, 3),), {}).sizes == ((2, 3),)


@pytest.mark.parametrize(
    "other",
    [
        torch.ones(2, dtype=torch.float64),
        torch.ones(2, 1),
        torch.ones(2, requires_grad=True),
        torch.ones(4)[::2],
        torch.nn.Parameter(torch.ones(2)),
        [torch.ones(2)],
        None,
    ],
)
def test_another_kind_of_tensor_has_another_key(other):
    assert key(torch.ones(2)) != key(other)


@pytest.mark.parametrize(
    ("one", "two"),
    [(1, True), (1, 1.0), (0.0, -0.0), ("1", 1), ([1], (1,)), ({"a": 1}, {"b": 1}), (None, 0),
     ((1, 2), Pair(1, 2))],
)  # fmt: skip
def test_python_values_that_differ_have_different_signatures(one, two):
    first, second = signature_of((one,), {}), signature_of((two,), {})
    assert (first.key, first.sizes) != (second.key, second.sizes)


def test_nan_is_the_same_each_time():
    first, second = signature_of((float("nan"),), {}), signature_of((float("nan"),), {})
    assert (first.key, first.sizes) == (second.key, second.sizes)


def test_an_object_is_its_identity():
    class Box:
        def __eq__(self, other):
            return True

        __hash__ = None

    box = Box()
    assert key(box) == key(box)
    assert key(box) != key(Box())


def test_grad_mode_autocast_and_default_dtype_are_part_of_the_key():
    plain = key(1)
    with torch.no_grad():
        assert key(1) != plain
    with torch.inference_mode():
        inference = key(1)
    assert inference != plain
    with torch.autocast("cpu", torch.bfloat16):
        assert key(1) != plain
    torch.set_default_dtype(torch.float64)
    try:
        assert key(1) != plain
    finally:
        torch.set_default_dtype(torch.float32)


def test_leaves_come_in_the_order_of_the_arguments():
    a, b, c = torch.ones(1), torch.ones(2), torch.ones(3)
    found = signature_of((a, [b]), {"c": {"d": c}})
    assert [leaf.numel() for leaf in found.leaves] == [1, 2, 3]


def test_specs_of_takes_the_sizes_given():
    spec = specs_of([torch.ones(2, 3)], [(None, 3)])
    assert spec == [TensorSpec((None, 3), torch.float32, CPU, False)]


def test_specs_from_reads_input_specs_and_tensors_in_containers():
    found = specs_from(Pair([InputSpec([None])], {"k": torch.ones(2)}))
    assert isinstance(found, Pair)
    assert found.a[0].shape == (None,)
    assert found.b["k"].shape == (2,)


def test_fit_takes_device_and_requires_grad_from_the_value():
    spec = specs_from(InputSpec([None]))
    assert fit(spec, torch.ones(3, requires_grad=True), "x", {}, {}).requires_grad


@pytest.mark.parametrize(
    ("spec", "value", "problem"),
    [
        (InputSpec([None, 3]), torch.ones(2), "x is float32[2], its spec says float32[any, 3]"),
        (InputSpec([2]), torch.ones(3), "x is float32[3], its spec says float32[2]"),
        (InputSpec([2], "int64"), torch.ones(2), "x is float32[2], its spec says int64[2]"),
        (InputSpec([2]), 3, "x is an int, its spec says float32[2]"),
        (3, 4, "x is 4, its spec says 3"),
        ([1, 2], [1], "x has 1 items, its spec has 2"),
        ({"a": 1}, {"b": 1}, "x has the keys ['b'], its spec has ['a']"),
        ([InputSpec([2])], [torch.ones(1)], "x[0] is float32[1], its spec says float32[2]"),
        ({"a": 1}, {"a": 2}, "x['a'] is 2, its spec says 1"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_path(spec, value, problem):
    with pytest.raises(SpecMismatch) as caught:
        fit(specs_from(spec), value, "x", {}, {})
    assert caught.value.problem == problem
