"""What a program can hold as it is, and what it cannot."""

import pytest
import torch

from stator.capture.literals import hashable, literal_arg
from stator.errors import UnsupportedCall
from stator.program.ir import Literal


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (torch.float32, Literal("dtype", "float32")),
        (torch.device("cpu"), Literal("device", "cpu")),
        (torch.strided, Literal("layout", "strided")),
        (torch.channels_last, Literal("memory_format", "channels_last")),
    ],
)
def test_what_torch_names_becomes_a_literal(value, literal):
    assert literal_arg(value) == literal


@pytest.mark.parametrize("value", [None, True, 2**63 - 1, -(2**63), 1.5, 2j, "mean"])
def test_numbers_and_strings_stay_as_they_are(value):
    assert literal_arg(value) is value


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, object()])
def test_what_a_program_cannot_hold_is_refused(value):
    with pytest.raises(UnsupportedCall):
        literal_arg(value)


def test_keys_tell_equal_numbers_of_different_types_apart():
    assert len({hashable(arg) for arg in (0, 0.0, -0.0, False, (0,))}) == 5
