"""What the op table says of an op that it does not know, and of those of Stator."""

import pytest

from stator.program.ir import Op
from stator.program.opset.in_files import stem_of
from stator.program.opset.queries import is_removable, may_raise
from stator.program.opset.stator_ops import STATOR_ROWS
from stator.program.opset.torch_ops import EXCEPTIONS, torch_row


def test_an_op_of_which_nothing_is_known_gets_the_safe_answers():
    row = torch_row("aten::bincount")
    assert stem_of(row.name) not in EXCEPTIONS
    assert may_raise(Op(row.name, (), {}, ()))
    assert not is_removable(Op(row.name, (), {}, ()))


@pytest.mark.parametrize("row", STATOR_ROWS.values(), ids=STATOR_ROWS)
def test_every_op_of_stator_says_what_it_means(row):
    assert row.signature
    assert row.meaning
