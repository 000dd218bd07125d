"""Every function of a file, without running it."""

import inspect

import pytest

from stator.source.files import read_file
from stator.source.text import read_source
from tests.rewrite import classes, zoo


@pytest.mark.parametrize("module", [zoo, classes], ids=["zoo", "classes"])
def test_a_function_is_what_its_object_would_be_read_as(module):
    file = inspect.getsourcefile(module)
    with open(file) as stream:
        found = {one.name: one for one in read_file(file, stream.read()).functions}
    compared = 0
    for function in functions_of(module):
        wanted = read_source(function)
        mine = found[function.__qualname__].source
        assert (mine.text, mine.file, mine.name) == (wanted.text, wanted.file, wanted.name)
        assert mine.class_name == wanted.class_name
        assert len(mine.enclosing) == len(wanted.enclosing)
        compared += 1
    assert compared > 3


def functions_of(module):
    own = [
        one for one in vars(module).values() if getattr(one, "__module__", "") == module.__name__
    ]
    inside = [one for cls in own if inspect.isclass(cls) for one in vars(cls).values()]
    for function in (*own, *inside):
        wrapped = hasattr(function, "__wrapped__")
        if inspect.isfunction(function) and "<" not in function.__qualname__ and not wrapped:
            yield function


TEXT = """
import stator as s
import torch.nn as nn
from stator import to_static, not_to_static as leave
from .local import other

@to_static
def one(x): return x

@s.to_static(input_spec=None)
@leave
def two(x): yield x

class Outer:
    class Inner:
        @other.thing
        def method(self):
            def nested():
                yield 1
            return lambda: nested

model = Outer(3)
s.to_static(model)
s.to_static(one, full_graph=False)
not_ours.to_static_too(two)
"""


def test_names_decorators_generators_and_what_is_made_static():
    read = read_file("file.py", TEXT)
    assert [(one.name, one.decorators) for one in read.functions] == [
        ("one", ("stator.to_static",)),
        ("two", ("stator.to_static", "stator.not_to_static")),
        ("Outer.Inner.method", ("local.other.thing",)),
        ("Outer.Inner.method.nested", ()),
        ("Outer.Inner.method.<lambda>", ()),
    ]
    assert [one.name for one in read.functions if one.is_generator] == [
        "two", "Outer.Inner.method.nested",
    ]  # fmt: skip
    assert read.made_static == {"Outer", "one"}
    nested = read.functions[3]
    assert nested.source.class_name == "Inner"
    assert [around.name for around in nested.source.enclosing] == ["method"]
    assert str(nested.place) == "file.py:18, in Outer.Inner.method.nested"


def test_what_does_not_parse_is_a_syntax_error():
    with pytest.raises(SyntaxError):
        read_file("file.py", "def")
