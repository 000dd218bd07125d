"""Examples in docstrings are tests."""

import doctest
import importlib
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src"
WITH_EXAMPLES = [file for file in sorted(SRC.rglob("*.py")) if ">>> " in file.read_text()]


@pytest.mark.parametrize("file", WITH_EXAMPLES, ids=lambda file: str(file.relative_to(SRC)))
def test_examples_give_what_they_show(file):
    name = ".".join(file.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted
    assert not result.failed
