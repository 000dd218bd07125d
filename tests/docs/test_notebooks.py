"""The notebooks run from top to bottom, and show what is stored in them."""

import pytest

from tests.docs.notebooks import NOTEBOOKS, executed, read, shown

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in NOTEBOOKS])
def test_a_notebook_shows_what_is_stored_in_it(path):
    notebook = read(path)
    assert any(shown(notebook)), "no outputs are stored"
    assert shown(executed(notebook)) == shown(notebook)


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 2
