"""The table says of each tensor what it is."""

import pytest
import torch

from stator.errors import FormatError
from stator.export.tensor_entries import Entry
from stator.export.tensor_table import entries_of
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
