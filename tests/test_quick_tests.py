"""`make check` leaves out the tests marked slow: it still runs some of every package."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SRC = TESTS.parent / "src" / "stator"
PACKAGES = [*sorted(file.parent.name for file in SRC.glob("*/__init__.py")), "verify"]
ENOUGH = 5


def quick_tests(file):
    """The names of the tests in `file` that are not marked slow as a whole."""
    body = ast.parse(file.read_text()).body
    marks = [
        ast.unparse(node.value)
        for node in body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    if any("pytest.mark.slow" in mark for mark in marks):
        return []
    return [
        node.name
        for node in body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        if not any(ast.unparse(one) == "pytest.mark.slow" for one in node.decorator_list)
    ]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_has_quick_tests(package):
    found = [name for file in (TESTS / package).rglob("test_*.py") for name in quick_tests(file)]
    assert len(found) >= ENOUGH


def test_a_file_may_be_slow_as_a_whole(tmp_path):
    file = tmp_path / "test_one.py"
    file.write_text("pytestmark = [pytest.mark.slow]\ndef test_a():\n    pass\n")
    assert quick_tests(file) == []
