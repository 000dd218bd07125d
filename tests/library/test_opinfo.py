"""Every op of torch's sample database, as a static function, does what it does in eager code."""

import pytest
from torch.testing._internal.common_methods_invocations import op_db

from tests.library.opinfo import survey

pytestmark = pytest.mark.slow

LETTERS = ("abc", "def", "ghijkl", "m", "n", "opqr", "s", "tuvwxyz_")
REFUSED = {
    "histogramdd": "a list of tensors among its results",
    "resize_": "another size for the memory of a tensor",
    "resize_as_": "another size for the memory of a tensor",
    "sparse_mm_reduce": "an argument of the layout CSR",
    "sparse_sampled_addmm": "an argument of the layout CSR",
    "tensor_split": "a tensor as the number of parts",
}


@pytest.mark.parametrize("letters", LETTERS)
def test_ops_give_values_and_gradients_of_eager_code(letters):
    found = survey([op for op in op_db if op.name[0].lower() in letters], samples=2)
    assert any(verdict.word == "right" for verdict in found.values())
    others = {
        name: verdict for name, verdict in found.items() if verdict.word not in ("right", "none")
    }
    assert {
        name: verdict
        for name, verdict in others.items()
        if verdict.word != "refused" or name not in REFUSED
    } == {}


def test_an_op_that_differs_is_seen():
    found = survey([op for op in op_db if op.name == "tensor_split"], samples=6)
    assert {verdict.word for verdict in found.values()} == {"refused"}


def test_less_than_one_op_in_a_hundred_is_refused():
    assert len(REFUSED) < len(op_db) / 100
