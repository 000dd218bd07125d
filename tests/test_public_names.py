"""The public names: what is promised, and nothing more."""

import importlib.metadata

import pytest

import stator

PUBLIC = [
    "ConcreteProgram",
    "Example",
    "InputSpec",
    "Program",
    "StaticFunction",
    "StatorError",
    "TracedLayer",
    "TranslatedLayer",
    "compiled",
    "debug",
    "enable_to_static",
    "errors",
    "explain",
    "host_call",
    "ignore_module",
    "load",
    "not_to_static",
    "save",
    "set_code_level",
    "set_verbosity",
    "static",
    "testing",
    "to_exported_program",
    "to_static",
    "verify",
]


def test_the_public_names_are_these():
    assert stator.__all__ == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_there_and_says_what_it_is(name):
    assert getattr(stator, name).__doc__


def test_a_star_import_gives_the_public_names_alone():
    names = {}
    exec("from stator import *", names)
    assert sorted(names.keys() - {"__builtins__"}) == PUBLIC


def test_the_version_is_that_of_the_package():
    assert stator.__version__ == importlib.metadata.version("stator")
