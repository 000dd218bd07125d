"""The table says of each tensor what it is, and the weights hold just that."""

import pytest
import torch

from stator.export.checking import Damage
from stator.export.tensor_entries import Entry, check_stored, decode_entry, decode_names
from stator.export.tensor_header import Span
from stator.export.tensor_table import encode_table
from stator.export.vocabulary import WrittenNames
from stator.program.types import TensorType
from tests.program.zoo import linear

PAIRS = Span("float32", (3, 2), 0, 24)


def row(key, dtype, *shape, requires_grad=False):
    return {"key": key, "dtype": dtype, "shape": list(shape), "requires_grad": requires_grad}


def names_of(table, **spans):
    return decode_names(table, spans, WrittenNames())


def test_a_table_comes_back():
    entries = {"a": Entry("constant", False, False), "b": Entry("buffer", True, True)}
    tensors = {"b": torch.ones(2), "a": torch.ones(2)}
    table = encode_table(entries, tensors, {"a": "a", "b": "a"})
    assert list(table) == ["a", "b"]
    assert {name: decode_entry(item, name) for name, item in table.items()} == entries
    found = names_of(table, a=Span("float32", (2,), 0, 8))
    assert found.keys == {"a": "a", "b": "a"}
    assert found.types == dict.fromkeys("ab", TensorType("float32", (2,)))
    assert found.first_names() == {"a": "a", "b": "a"}


def test_a_complex_tensor_is_stored_as_pairs():
    found = names_of({"z": row("z", "complex64", 3, requires_grad=True)}, z=PAIRS)
    assert found.types == {"z": TensorType("complex64", (3,))}
    assert found.sizes == {"z": 24}


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"z": row("z", "complex128", 3)}, "tensors.z is c128[3], and in the weights c64[3]"),
        ({"z": row("z", "float32", 3)}, "tensors.z is f32[3], and in the weights f32[3, 2]"),
        ({"z": row("y", "float32", 3)}, "tensors.z names the key 'y', which the weights lack"),
        ({}, "tensors has no entry for the key 'z' of the weights"),
        (
            {"z": row("z", "complex64", 3), "y": row("z", "float32", 3, 2)},
            "tensors.y is f32[3, 2], and in the weights c64[3]",
        ),
    ],
)
def test_a_table_that_the_weights_do_not_fit_is_found(table, problem):
    with pytest.raises(Damage) as caught:
        names_of(table, z=PAIRS)
    assert str(caught.value) == problem


def test_only_floats_require_gradients():
    with pytest.raises(Damage) as caught:
        names_of({"n": row("n", "int64", requires_grad=True)}, n=Span("int64", (), 0, 8))
    assert str(caught.value) == "tensors.n is i64[], which cannot require gradients"


def test_a_program_that_takes_a_tensor_for_another_is_found():
    types = {"fc.weight": TensorType("float32", (4, 3)), "fc.bias": TensorType("float32", (4,))}
    check_stored({"forward": linear()}, types)
    with pytest.raises(Damage) as caught:
        check_stored({"forward": linear()}, types | {"fc.bias": TensorType("float32", (4, 1))})
    assert str(caught.value) == "programs.forward.stored takes `fc.bias` for f32[4]"
    with pytest.raises(Damage) as caught:
        check_stored({"forward": linear()}, {})
    assert str(caught.value) == (
        "programs.forward.stored needs the parameter `fc.weight`, which is not there"
    )
