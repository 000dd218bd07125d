"""Places: the innermost line that the user wrote."""

import contextlib
import os

import torch

from stator.capture import recorder
from stator.frames import current_place, is_library_file, place_of


def test_this_file_is_not_a_library():
    assert not is_library_file(__file__)


def test_torch_the_standard_library_and_stator_are_libraries():
    for module in (torch, contextlib, os, recorder):
        assert is_library_file(module.__file__)
    assert is_library_file("<frozen importlib._bootstrap>")


def test_the_current_place_is_the_line_that_asks():
    place = current_place()
    assert place.file == __file__
    assert place.function == "test_the_current_place_is_the_line_that_asks"
    assert place.column == len("    place = ")


def test_the_place_of_an_error_is_the_last_line_of_the_user():
    def fail():
        torch.ones(2) + torch.ones(3)

    try:
        fail()
    except RuntimeError as error:
        place = place_of(error)
    assert place.function == "fail"
    assert place.line == fail.__code__.co_firstlineno + 1


def test_an_error_never_raised_has_no_place():
    assert place_of(ValueError()) is None
