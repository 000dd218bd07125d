"""Places in cells of a notebook have the names that the notebook shows."""

import sys
from types import SimpleNamespace

import pytest

from stator.location import Location, file_name, shown_file

CELL = "/tmp/ipykernel_1/123.py"


@pytest.fixture
def notebook(monkeypatch):
    """IPython, with one cell that has been run."""
    compiled = SimpleNamespace(
        format_code_name=lambda name: ("Cell", "In[3]") if name == CELL else None
    )
    shell = SimpleNamespace(compile=compiled)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))


@pytest.mark.usefixtures("notebook")
def test_a_place_in_a_cell_names_the_cell():
    place = Location(CELL, 4, 0, "f")
    assert str(place) == "Cell In[3]:4, in f"
    assert place.short == "In[3]:4"


@pytest.mark.usefixtures("notebook")
def test_a_place_in_a_file_names_the_file():
    assert shown_file("/a/model.py") == "/a/model.py"
    assert file_name("/a/model.py") == "model.py"


def test_without_a_notebook_a_file_is_a_file():
    assert shown_file(CELL) == CELL
    assert file_name("c:\\a\\model.py") == "model.py"


def test_an_ipython_without_a_shell_changes_nothing(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert shown_file(CELL) == CELL
