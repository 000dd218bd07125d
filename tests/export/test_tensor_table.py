"""The table says of each tensor what it is."""

import pytest
import torch

from stator.errors import FormatError
from stator.export.checking import Damage
from stator.export.tensor_table import (
    Entry,
    check_stored,
    decode_entry,
    decode_tensors,
    encode_table,
    entries_of,
)
from tests.program.zoo import linear

WEIGHTS = {"fc.weight": torch.ones(4, 3), "fc.bias": torch.ones(4)}


def test_the_program_says_what_a_tensor_is_and_the_tensor_itself_otherwise():
    tensors = WEIGHTS | {"free": torch.nn.Parameter(torch.ones(1)), "plain": torch.ones(1)}
    entries = entries_of({"forward": linear()}, tensors, {"fc.bias": True}, ["plain"])
    assert entries == {
        "fc.weight": Entry("parameter", False, True),
        "fc.bias": Entry("parameter", True, True),
        "free": Entry("parameter", True, True),
        "plain": Entry("buffer", False, False),
    }


def test_a_tensor_that_a_program_needs_must_be_given():
    with pytest.raises(FormatError) as caught:
        entries_of({"forward": linear()}, {}, {}, ())
    assert caught.value.problem == (
        "the program needs the parameter `fc.weight`, and no tensor was given"
    )


def test_a_table_comes_back():
    entries = {"a": Entry("constant", False, False), "b": Entry("buffer", True, True)}
    tensors = {"b": torch.ones(2), "a": torch.ones(2)}
    table = encode_table(entries, tensors, {"a": "a", "b": "a"})
    assert list(table) == ["a", "b"]
    assert {name: decode_entry(item, name) for name, item in table.items()} == entries
    again = decode_tensors(table, {"a": torch.ones(2)})
    assert again["a"] is again["b"]


def test_a_program_that_takes_a_tensor_for_another_is_found():
    check_stored({"forward": linear()}, WEIGHTS)
    with pytest.raises(Damage) as caught:
        check_stored({"forward": linear()}, WEIGHTS | {"fc.bias": torch.ones(4, 1)})
    assert str(caught.value) == "programs.forward.stored takes `fc.bias` for f32[4]"
