"""Symbolic values: used by library code, they say what they lack."""

import pytest

from stator.errors import DataDependent
from stator.program.ir import Value
from stator.program.types import TextType
from stator.values.symbolic import CapturedText, Undefined


def test_an_unbound_name_raises_what_python_raises():
    assert str(Undefined("x").error()) == (
        "cannot access local variable 'x' where it is not associated with a value"
    )


def test_captured_text_has_no_text_yet():
    with pytest.raises(DataDependent) as caught:
        str(CapturedText(Value("1", TextType())))
    assert caught.value.problem == "Python code needs a string made from captured values"
