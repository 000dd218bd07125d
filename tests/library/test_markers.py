"""Marks on functions: left alone, or static already."""

import stator
from stator.library import markers


def plain(x):
    return x


def test_a_function_without_a_mark_is_converted():
    assert not markers.is_left_alone(plain)
    assert markers.original_function(plain) is None


def test_a_mark_is_seen_on_a_method():
    class Box:
        @markers.leave_alone
        def get(self):
            return 1

    assert markers.is_left_alone(Box().get)


def test_functions_of_an_ignored_module_are_left_alone(monkeypatch):
    monkeypatch.setattr(markers, "_ignored_modules", {__name__})
    assert markers.is_left_alone(plain)


def test_the_original_of_a_static_function_is_known():
    assert markers.original_function(stator.to_static(plain)) is plain
