"""What torch's own Python calls while it runs in a capture."""

import pytest

from stator.errors import DataDependent
from stator.library.calls_inside_torch import calls_inside_torch
from stator.torch_private import control_flow


def test_a_function_that_torch_would_compile_is_refused_by_its_text():
    owner, name = control_flow.COMPILING[0]
    before = getattr(owner, name)
    with calls_inside_torch(None), pytest.raises(DataDependent) as caught:
        getattr(owner, name)(lambda: None)
    assert caught.value.problem == "torch compiles a function that it is given, inside a program"
    assert caught.value.fix == "write plain `if` and `while`"
    assert getattr(owner, name) is before
