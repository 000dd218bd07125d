"""A function's source is found in the file its author wrote, or refused by name."""

from __future__ import annotations

import ast
import functools
import linecache
import types

import pytest

from stator.errors import ConversionError, SourceUnavailable
from stator.source.text import read_source
from tests.said import said


def decorated_twice(function):
    return function


@decorated_twice
@functools.partial(lambda f: f)
def target(x):
    return x


class Holder:
    class Inner:
        """A class in a class."""

        def method(self):
            return lambda: self


def test_line_numbers_are_those_of_the_file():
    source = read_source(target)
    assert isinstance(source.tree, ast.FunctionDef)
    assert linecache.getline(__file__, source.tree.lineno) == "def target(x):\n"
    assert source.file == __file__
    assert source.text == "def target(x):\n    return x\n"


def test_the_innermost_class_is_known_also_inside_a_method():
    method = Holder.Inner.method
    assert read_source(method).class_name == "Inner"
    assert read_source(method(None)).class_name == "Inner"
    assert read_source(target).class_name is None


def test_the_functions_around_are_listed_outermost_first():
    def outer():
        def inner():
            pass

        return inner

    names = [node.name for node in read_source(outer()).enclosing]
    assert names == ["test_the_functions_around_are_listed_outermost_first", "outer"]


def test_each_source_is_a_tree_of_its_own():
    assert read_source(target).tree is not read_source(target).tree


def test_text_that_was_executed_is_found_where_linecache_has_it():
    text = "def f(x):\n    return x + 1\n"
    linecache.cache["<cell 1>"] = (len(text), None, text.splitlines(keepends=True), "<cell 1>")
    names: dict = {}
    exec(compile(text, "<cell 1>", "exec"), names)
    assert read_source(names["f"]).text == text


def test_a_function_without_text_is_refused():
    names: dict = {}
    exec(compile("def f(x): return x", "<nowhere>", "exec"), names)
    with pytest.raises(SourceUnavailable) as caught:
        read_source(names["f"])
    assert isinstance(caught.value, ConversionError)
    assert isinstance(caught.value, OSError)
    assert said(caught.value) == (
        "[ST101] `f` (<nowhere>:1) has no source text\n"
        "  fix: define it with `def` in a file or a notebook cell, or mark it `not_to_static`"
    )


def from_file(tmp_path, text, changed):
    file = tmp_path / "model.py"
    file.write_text(text)
    names: dict = {}
    exec(compile(text, str(file), "exec"), names)
    file.write_text(changed)
    linecache.checkcache(str(file))
    return file, names["f"]


def test_a_file_that_changed_under_the_function_is_refused(tmp_path):
    file, function = from_file(tmp_path, "def f(x): return x\n", "x = 1\n")
    with pytest.raises(SourceUnavailable) as caught:
        read_source(function)
    assert said(caught.value) == (
        f"[ST101] `f` ({file}:1) is not in the text of its file\n"
        "  fix: define it with `def` in a file or a notebook cell, or mark it `not_to_static`"
    )


def test_a_file_that_does_not_parse_any_more_is_refused(tmp_path):
    file, function = from_file(tmp_path, "def f(x): return x\n", "x = (1\n")
    with pytest.raises(SourceUnavailable) as caught:
        read_source(function)
    assert said(caught.value) == (
        f"[ST101] {file} does not parse: '(' was never closed\n"
        "  fix: the file has changed since it was imported: import it again"
    )


def test_lambdas_without_places_are_told_apart_by_what_they_do():
    every = [lambda x: 3, lambda x: 3.0, lambda x: None, lambda x: x, lambda y: y, lambda x: (1, 2)]
    for one in every:
        blurred = type(one)(one.__code__.replace(co_linetable=b""), {})
        assert ast.dump(read_source(blurred).tree) == ast.dump(read_source(one).tree)


def test_lambdas_that_cannot_be_told_apart_are_refused():
    shift = 2
    one, _ = (lambda x: x * shift), (lambda x: x + shift)
    blurred = one.__code__.replace(co_linetable=b"")
    function = type(one)(blurred, {}, closure=one.__closure__)
    with pytest.raises(SourceUnavailable) as caught:
        read_source(function)
    where = f"{__file__}:{one.__code__.co_firstlineno}"
    assert said(caught.value) == (
        f"[ST101] `<lambda>` ({where}) is one of several lambdas on one line\n"
        "  fix: define it with `def` in a file or a notebook cell, or mark it `not_to_static`"
    )


def test_a_function_whose_code_has_another_name_is_found_by_its_line():
    def written(x, *rest, scale=2):
        return x * scale

    renamed = types.FunctionType(
        written.__code__.replace(co_name="Other.written"), written.__globals__
    )
    assert read_source(renamed).tree.name == "written"
