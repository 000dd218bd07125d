"""The op table is true of what torch does on the samples of its own database (OpInfo)."""

import warnings

import pytest
from torch.testing._internal.common_methods_invocations import op_db

from tests.program.op_samples import problems_of

pytestmark = pytest.mark.slow

LETTERS = ("abc", "def", "ghijkl", "m", "n", "opqr", "s", "tuvwxyz_")


@pytest.mark.parametrize("letters", LETTERS)
def test_what_ops_do_is_in_the_table(letters):
    ops = [op for op in op_db if op.name[0].lower() in letters]
    assert ops
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {problem for op in ops for problem in problems_of(op)}
    assert found == set()


def test_every_op_of_the_database_is_walked():
    assert {op.name[0].lower() for op in op_db} <= set("".join(LETTERS))
