"""A captured tensor, printed while the program is made, says what it is and where it comes from."""

import pdb
import re

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

import stator
from stator import InputSpec


def shown_in(function, *args, spec=None):
    """What `look(...)` in `function` saw, as text."""
    seen = []

    @stator.not_to_static
    def look(value):
        seen.append(repr(value))

    stator.to_static(lambda *a: function(look, *a), spec)(*args)
    return seen


def test_an_input_says_its_type_and_name():
    seen = []

    @stator.not_to_static
    def look(value):
        seen.append(repr(value))

    @stator.to_static
    def f(x):
        look(x)
        return x

    f(torch.ones(2, 3))
    assert seen == ["<captured f32[2, 3], the input x>"]


def test_a_result_says_the_line_it_came_from():
    def f(look, x):
        y = x.long() * 2
        look(y)
        return y

    line = f.__code__.co_firstlineno + 1
    assert shown_in(f, torch.ones(3)) == [
        f"<captured i64[3], from test_tensor_repr.py:{line}: y = x.long() * 2>"
    ]


def test_an_open_size_is_a_symbol_that_is_explained():
    seen = []

    @stator.not_to_static
    def look(value):
        seen.append(repr(value))

    @stator.to_static(input_spec=[InputSpec([None, 3])])
    def f(x):
        y = x + 1
        look(y)
        return y

    f(torch.ones(2, 3))
    assert re.fullmatch(
        r"<captured f32\[(u\d+), 3\], \1 is x.shape\[0\], "
        r"from test_tensor_repr.py:\d+: y = x \+ 1>",
        seen[0],
    )


def test_a_value_of_a_loop_never_shows_an_address():
    def f(look, x):
        y = x
        while y.sum() > 3:
            y = y - 1
            look(y)
        look(y)
        return y

    seen = shown_in(f, torch.ones(5))
    assert seen
    assert not [
        text for text in seen if " at 0x" in text or not text.startswith("<captured f32[5]")
    ]


def test_after_the_capture_fake_tensors_are_printed_as_before():
    before = repr(FakeTensorMode().from_tensor(torch.ones(2)))
    stator.to_static(lambda x: x + 1)(torch.ones(2))
    with pytest.raises(ZeroDivisionError):
        stator.to_static(lambda x: x + 1 / 0)(torch.ones(2))
    assert repr(FakeTensorMode().from_tensor(torch.ones(2))) == before
    assert "__repr__" not in vars(FakeTensor)


def test_a_debugger_in_code_that_is_captured_prints_it(monkeypatch, capsys):
    commands = iter(["p y", "continue"])
    monkeypatch.setattr("builtins.input", lambda *_: next(commands))

    @stator.not_to_static
    def stop(y):
        debugger = pdb.Pdb(nosigint=True, readrc=False)
        debugger.use_rawinput = True
        debugger.set_trace()
        return y

    @stator.to_static
    def f(x):
        y = x * 2
        return stop(y)

    f(torch.ones(2))
    assert "<captured f32[2], from test_tensor_repr.py:" in capsys.readouterr().out
