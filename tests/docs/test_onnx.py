"""docs/onnx.md: what it says ONNX cannot hold is refused, row by row."""

import pytest

from stator.errors import ExportError
from tests.docs.documents import ROOT, made_tables
from tests.docs.onnx_refused import REFUSED, refused, table


def test_the_table_is_that_of_the_tests():
    text = (ROOT / "docs" / "onnx.md").read_text()
    assert made_tables(text) == {"onnx-refused": table()}


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row.what)
def test_what_the_table_lists_is_refused(row):
    assert isinstance(refused(row), ExportError)
