"""The public names: what is promised, and nothing more."""

import importlib.metadata
import subprocess
import sys

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


def test_the_first_use_of_a_name_draws_no_random_number_of_the_user():
    code = "import random, stator; random.seed(0); stator.to_static; print(random.random())"
    drawn = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert drawn == "0.8444218515250481\n"
