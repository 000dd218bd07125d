"""The op table is true of what torch does on the samples of its own database (OpInfo)."""

import warnings

import pytest
from torch.testing._internal.common_methods_invocations import op_db

from stator.program.ir import Op
from stator.program.opset.in_files import stem_of
from stator.program.opset.queries import is_removable, may_raise
from stator.program.opset.stator_ops import STATOR_ROWS
from stator.program.opset.torch_ops import EXCEPTIONS, torch_row
from tests.program.op_samples import problems_of

LETTERS = ("abc", "def", "ghijkl", "m", "n", "opqr", "s", "tuvwxyz_")


@pytest.mark.slow
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


def test_an_op_of_which_nothing_is_known_gets_the_safe_answers():
    row = torch_row("aten::bincount")
    assert stem_of(row.name) not in EXCEPTIONS
    assert may_raise(Op(row.name, (), {}, ()))
    assert not is_removable(Op(row.name, (), {}, ()))


@pytest.mark.parametrize("row", STATOR_ROWS.values(), ids=STATOR_ROWS)
def test_every_op_of_stator_says_what_it_means(row):
    assert row.signature
    assert row.meaning
